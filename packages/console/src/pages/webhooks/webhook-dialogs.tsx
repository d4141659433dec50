/** What a person confirms: a replay, a new secret, a deletion. */
import type { WebhookView } from "@tendon/protocol";
import { useState } from "react";
import { useReplay, useSecretRotation, useWebhookDeletion } from "../../api/webhooks.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { Select } from "../../ui/field.tsx";
import { ShownSecret } from "../../ui/shown-secret.tsx";

interface DialogProps {
  readonly webhook: WebhookView;
  readonly onClose: () => void;
}

const hourMs = 3_600_000;
const replayHours = [1, 6, 24] as const;

export function ReplayDialog({ webhook, onClose }: DialogProps) {
  const { t, n } = useI18n();
  const [hours, setHours] = useState<number>(1);
  const replay = useReplay(webhook.id);
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() =>
        replay.mutate(new Date(Date.now() - hours * hourMs).toISOString(), { onSuccess: onClose })
      }
      request={replay}
      title={t("webhooks.replayTitle", { name: webhook.name })}
      effect={t("webhooks.replayEffect")}
      action={t("webhooks.replay")}
      danger={false}
    >
      <label className="flex flex-col gap-1 text-sm font-medium">
        {t("webhooks.replaySince")}
        <Select
          className="max-w-56 font-normal"
          value={hours}
          onChange={({ target }) => setHours(Number(target.value))}
        >
          {replayHours.map((each) => (
            <option key={each} value={each}>
              {n("webhooks.hours", each)}
            </option>
          ))}
        </Select>
      </label>
    </Confirm>
  );
}

export function RotateDialog({ webhook, onClose }: DialogProps) {
  const { t } = useI18n();
  const rotation = useSecretRotation(webhook.id);
  const { name } = webhook;
  if (rotation.data !== undefined)
    return (
      <Dialog open onClose={onClose} wide title={t("webhooks.ready", { name })}>
        <ShownSecret
          secret={rotation.data.secret}
          label={t("webhooks.secret")}
          warning={t("webhooks.once")}
          onClose={onClose}
        />
      </Dialog>
    );
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => rotation.mutate(undefined)}
      request={rotation}
      title={t("webhooks.rotateTitle", { name })}
      effect={t("webhooks.rotateEffect")}
      action={t("webhooks.rotate")}
      danger={false}
    />
  );
}

export function DeleteDialog({ webhook, onClose }: DialogProps) {
  const { t } = useI18n();
  const deletion = useWebhookDeletion(webhook.id);
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => deletion.mutate(undefined, { onSuccess: onClose })}
      request={deletion}
      title={t("webhooks.deleteTitle", { name: webhook.name })}
      effect={t("webhooks.deleteEffect")}
      action={t("webhooks.delete")}
    />
  );
}
