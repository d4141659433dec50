import { scopes, type TokenView } from "@tendon/protocol";
import { useAliases } from "../../api/aliases.ts";
import { useI18n } from "../../i18n/i18n.tsx";

/** The devices that a token is limited to, in words. */
export function Limits({ token }: { readonly token: TokenView }) {
  const { t } = useI18n();
  const aliasOf = useAliases();
  const { devices } = token;
  if (devices === undefined) return t("tokens.allDevices");
  const tags = (devices.tags ?? []).map((tag) => `#${tag}`);
  const names = (devices.ids ?? []).map(aliasOf);
  return (
    <>
      {t("tokens.someDevices")}: {[...tags, ...names].join(", ")}
    </>
  );
}

/** What a scope allows, in plain words. A scope of a newer gateway has only its name. */
export function scopeText(t: ReturnType<typeof useI18n>["t"], scope: string): string {
  const known = scopes.find((each) => each === scope);
  return known === undefined ? scope : t(`tokens.scope.${known}`);
}
