/** Adds a webhook: address, name, types and devices. The generated secret is then shown once. */
import type { WebhookRequest } from "@tendon/protocol";
import { useId, useState } from "react";
import { useFleetTags } from "../../api/fleet-tags.ts";
import { useWebhookCreation } from "../../api/webhooks.ts";
import { type Key, useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextInput } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { ShownSecret } from "../../ui/shown-secret.tsx";
import { TagField, wordsOf } from "../../ui/tag-field.tsx";

export function AddWebhookDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useI18n();
  const creation = useWebhookCreation();
  const made = creation.data;
  return (
    <Dialog
      open
      onClose={onClose}
      wide
      title={made === undefined ? t("webhooks.add") : t("webhooks.ready", { name: made.name })}
    >
      {made === undefined ? (
        <WebhookForm creation={creation} onClose={onClose} />
      ) : (
        <WebhookSecret secret={made.secret} onClose={onClose} />
      )}
    </Dialog>
  );
}

export function WebhookSecret({
  secret,
  onClose,
}: {
  readonly secret: string;
  readonly onClose: () => void;
}) {
  const { t } = useI18n();
  return (
    <ShownSecret
      secret={secret}
      label={t("webhooks.secret")}
      warning={t("webhooks.once")}
      onClose={onClose}
    />
  );
}

const fields = ["url", "name", "types", "ids"] as const;
type Field = (typeof fields)[number];
type Draft = Readonly<Record<Field | "tags", string>>;

const labels = {
  url: ["webhooks.url", "webhooks.urlHint"],
  name: ["tokens.name", "webhooks.nameHint"],
  types: ["webhooks.types", "webhooks.typesHint"],
  ids: ["tokens.ids", "tokens.idsHint"],
} as const satisfies Record<Field, readonly [Key, Key]>;

function WebhookForm({
  creation,
  onClose,
}: {
  readonly creation: ReturnType<typeof useWebhookCreation>;
  readonly onClose: () => void;
}) {
  const { t } = useI18n();
  const id = useId();
  const [draft, setDraft] = useState<Draft>({ url: "", name: "", types: "", ids: "", tags: "" });
  const known = useFleetTags(true);
  return (
    <form
      className="flex flex-col gap-4 overflow-y-auto p-5"
      onSubmit={(event) => {
        event.preventDefault();
        creation.mutate(requestOf(draft));
      }}
    >
      {fields.map((field) => (
        <div key={field} className="flex flex-col gap-1">
          <label htmlFor={`${id}-${field}`} className="text-sm font-medium">
            {t(labels[field][0])}
          </label>
          <TextInput
            id={`${id}-${field}`}
            required={field === "url"}
            autoFocus={field === "url"}
            autoComplete="off"
            maxLength={field === "name" ? 64 : 2_048}
            aria-describedby={`${id}-${field}-hint`}
            value={draft[field]}
            onChange={({ target }) => setDraft({ ...draft, [field]: target.value })}
          />
          <p id={`${id}-${field}-hint`} className="text-sm text-soft">
            {t(labels[field][1])}
          </p>
        </div>
      ))}
      <TagField
        label={t("tokens.tags")}
        hint={t("tokens.tagsHint")}
        value={draft.tags}
        known={known}
        onChange={(tags) => setDraft({ ...draft, tags })}
      />
      {creation.isError && <ProblemNote error={creation.error} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button
          type="submit"
          look="primary"
          icon="bell"
          disabled={creation.isPending || draft.url.trim() === ""}
        >
          {t("webhooks.add")}
        </Button>
      </div>
    </form>
  );
}

function requestOf({ url, name, types, ids, tags }: Draft): WebhookRequest {
  const devices = { ids: wordsOf(ids), tags: wordsOf(tags) };
  return {
    url: url.trim(),
    ...(name.trim() === "" ? {} : { name: name.trim() }),
    ...(wordsOf(types).length === 0 ? {} : { types: wordsOf(types) }),
    ...(devices.ids.length + devices.tags.length === 0 ? {} : { devices }),
  };
}
