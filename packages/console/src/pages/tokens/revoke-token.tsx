/** Asks before a token is revoked, and names what stops working. */
import type { TokenView } from "@tendon/protocol";
import { useSession } from "../../api/session.tsx";
import { useTokenRevocation } from "../../api/tokens.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Ago } from "../../ui/time.tsx";
import { Limits, scopeText } from "./token-texts.tsx";

export function RevokeTokenDialog({
  token,
  onClose,
}: {
  readonly token: TokenView;
  readonly onClose: () => void;
}) {
  const { t } = useI18n();
  const { principal } = useSession();
  const revocation = useTokenRevocation(token, onClose);
  const { name, scopes, lastUsedAt, lastUsedFrom } = token;
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => revocation.mutate()}
      request={revocation}
      title={t("tokens.revokeTitle", { name })}
      effect={t("tokens.revokeEffect")}
      action={t("tokens.revoke")}
    >
      <div className="rounded-lg bg-raised px-3 py-2 text-sm">
        <p className="font-medium break-words">{t("tokens.stops", { name })}</p>
        <ul className="mt-1 list-disc pl-5">
          {scopes.map((scope) => (
            <li key={scope}>{scopeText(t, scope)}</li>
          ))}
        </ul>
        <p className="mt-1 break-words text-soft">
          <Limits token={token} />
        </p>
        <p className="text-soft">
          {lastUsedAt === null ? (
            t("tokens.neverUsed")
          ) : (
            <>
              {t("tokens.lastUsed")} <Ago at={lastUsedAt} />
              {lastUsedFrom !== null && <> {t("tokens.from", { address: lastUsedFrom })}</>}
            </>
          )}
        </p>
      </div>
      {principal.name === name && <p className="text-sm text-warn">{t("tokens.own")}</p>}
    </Confirm>
  );
}
