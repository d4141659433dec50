/** Creates a token: name, scopes in plain words, devices and expiry. The token is then shown once. */
import { scopes, type TokenRequest } from "@tendon/protocol";
import { type ReactNode, useId, useState } from "react";
import { useFleetTags } from "../../api/fleet-tags.ts";
import { useTokenCreation } from "../../api/tokens.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Field, Select, TextField } from "../../ui/field.tsx";
import { CreationDialog } from "../../ui/request-form.tsx";
import { TagField, wordsOf } from "../../ui/tag-field.tsx";
import { scopeText } from "./token-texts.tsx";

type Scope = (typeof scopes)[number];

const dayMs = 86_400_000;
const expiryDays = [1, 7, 30, 90, 365] as const;

interface Draft {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly limited: boolean;
  readonly tags: string;
  readonly ids: string;
  /** 0 for a token that never expires. */
  readonly days: number;
}

const firstDraft: Draft = {
  name: "",
  scopes: ["read", "call"],
  limited: false,
  tags: "",
  ids: "",
  days: 0,
};

export function CreateTokenDialog({ onClose }: { readonly onClose: () => void }) {
  const { t, n } = useI18n();
  const creation = useTokenCreation();
  const [draft, setDraft] = useState(firstDraft);
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const noDevice = draft.limited && wordsOf(draft.tags).length + wordsOf(draft.ids).length === 0;
  return (
    <CreationDialog
      of="tokens"
      creation={creation}
      request={() => requestOf(draft)}
      secretOf={({ token }) => token}
      ready={draft.name.trim() !== "" && draft.scopes.length > 0 && !noDevice}
      onClose={onClose}
    >
      <TextField
        label={t("tokens.name")}
        hint={t("tokens.nameHint")}
        required
        autoFocus
        maxLength={64}
        value={draft.name}
        onChange={(name) => change({ name })}
      />
      <ScopeChoice draft={draft} change={change} />
      <DeviceChoice draft={draft} change={change} />
      <Field label={t("tokens.expiry")}>
        {(names) => (
          <Select
            {...names}
            className="max-w-56"
            value={draft.days}
            onChange={({ target }) => change({ days: Number(target.value) })}
          >
            <option value={0}>{t("tokens.never")}</option>
            {expiryDays.map((days) => (
              <option key={days} value={days}>
                {n("tokens.days", days)}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </CreationDialog>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
}

function ScopeChoice({ draft, change }: PartProps) {
  const { t } = useI18n();
  const all = draft.scopes.includes("admin");
  const toggle = (scope: Scope, on: boolean) =>
    change({ scopes: scopes.filter((each) => (each === scope ? on : draft.scopes.includes(each))) });
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 text-sm font-medium">{t("tokens.scopes")}</legend>
      {scopes.map((scope) => (
        <Choice
          key={scope}
          type="checkbox"
          // `admin` includes the other scopes.
          checked={all || draft.scopes.includes(scope)}
          disabled={all && scope !== "admin"}
          onChange={(on) => toggle(scope, on)}
        >
          {scopeText(t, scope)} <code className="font-mono text-xs text-soft">{scope}</code>
        </Choice>
      ))}
      {draft.scopes.length === 0 && <p className="text-sm text-soft">{t("tokens.scopeMissing")}</p>}
    </fieldset>
  );
}

function DeviceChoice({ draft, change }: PartProps) {
  const { t } = useI18n();
  const id = useId();
  const known = useFleetTags(draft.limited);
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 text-sm font-medium">{t("tokens.devices")}</legend>
      <Choice type="radio" name={id} checked={!draft.limited} onChange={() => change({ limited: false })}>
        {t("tokens.allDevices")}
      </Choice>
      <Choice type="radio" name={id} checked={draft.limited} onChange={() => change({ limited: true })}>
        {t("tokens.someDevices")}
      </Choice>
      {draft.limited && (
        <div className="mt-1 grid grid-cols-1 gap-3 pl-6 sm:grid-cols-2">
          <TagField
            label={t("tokens.tags")}
            hint={t("tokens.tagsHint")}
            value={draft.tags}
            known={known}
            onChange={(tags) => change({ tags })}
          />
          <TextField
            label={t("tokens.ids")}
            hint={t("tokens.idsHint")}
            value={draft.ids}
            onChange={(ids) => change({ ids })}
          />
        </div>
      )}
    </fieldset>
  );
}

function Choice(props: {
  readonly type: "checkbox" | "radio";
  readonly name?: string;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChange: (on: boolean) => void;
  readonly children: ReactNode;
}) {
  const { type, name, checked, disabled = false, onChange, children } = props;
  return (
    <label className="flex items-start gap-2.5 py-0.5">
      <input
        type={type}
        {...(name === undefined ? {} : { name })}
        checked={checked}
        disabled={disabled}
        onChange={({ target }) => onChange(target.checked)}
        className="mt-0.5 size-4 shrink-0 accent-accent"
      />
      <span>{children}</span>
    </label>
  );
}

function requestOf({ name, scopes: chosen, limited, tags, ids, days }: Draft): TokenRequest {
  return {
    name: name.trim(),
    scopes: chosen.includes("admin") ? ["admin"] : [...chosen],
    ...(limited ? { devices: { tags: wordsOf(tags), ids: wordsOf(ids) } } : {}),
    ...(days === 0 ? {} : { expiresAt: new Date(Date.now() + days * dayMs).toISOString() }),
  };
}
