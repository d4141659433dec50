/** Adds a webhook: address, name, types and devices. The generated secret is then shown once. */
import type { WebhookRequest } from "@tendon/protocol";
import { useState } from "react";
import { useFleetTags } from "../../api/fleet-tags.ts";
import { useWebhookCreation } from "../../api/webhooks.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { TextField } from "../../ui/field.tsx";
import { CreationDialog } from "../../ui/request-form.tsx";
import { TagField, wordsOf } from "../../ui/tag-field.tsx";

const empty = { url: "", name: "", types: "", ids: "", tags: "" };
type Draft = Readonly<typeof empty>;

export function AddWebhookDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useI18n();
  const creation = useWebhookCreation();
  const [draft, setDraft] = useState<Draft>(empty);
  const known = useFleetTags(true);
  const field = (name: keyof Draft) => ({
    value: draft[name],
    onChange: (text: string) => setDraft({ ...draft, [name]: text }),
  });
  return (
    <CreationDialog
      of="webhooks"
      creation={creation}
      request={() => requestOf(draft)}
      secretOf={({ secret }) => secret}
      ready={draft.url.trim() !== ""}
      onClose={onClose}
    >
      <TextField
        label={t("webhooks.url")}
        hint={t("webhooks.urlHint")}
        required
        autoFocus
        maxLength={2_048}
        {...field("url")}
      />
      <TextField label={t("tokens.name")} hint={t("webhooks.nameHint")} maxLength={64} {...field("name")} />
      <TextField
        label={t("webhooks.types")}
        hint={t("webhooks.typesHint")}
        maxLength={2_048}
        {...field("types")}
      />
      <TextField label={t("tokens.ids")} hint={t("tokens.idsHint")} maxLength={2_048} {...field("ids")} />
      <TagField label={t("tokens.tags")} hint={t("tokens.tagsHint")} known={known} {...field("tags")} />
    </CreationDialog>
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
