/** Queues a call for a device that is offline. */
import type { QueuedReply } from "@tendon/protocol";
import { useId } from "react";
import { Link } from "wouter";
import { type ExpiryChoice, expiryChoices, useCancelQueued } from "../../api/queued-calls.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { callAddress } from "../../shell/navigation.ts";
import { Button } from "../../ui/button.tsx";
import { Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Expiry } from "../../ui/time.tsx";

/** The button submits the form that contains it. */
export function QueueOffer(props: {
  readonly expiry: ExpiryChoice;
  readonly onExpiry: (expiry: ExpiryChoice) => void;
  readonly disabled: boolean;
}) {
  const { expiry, onExpiry, disabled } = props;
  const { t } = useI18n();
  return (
    <div className="mt-2 flex flex-col gap-2">
      <p className="text-sm text-soft">{t("queue.offer")}</p>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Button type="submit" look="primary" icon="clock" disabled={disabled}>
          {t("queue.action")}
        </Button>
        <ExpirySelect expiry={expiry} onExpiry={onExpiry} />
      </div>
    </div>
  );
}

export function ExpirySelect(props: {
  readonly expiry: ExpiryChoice;
  readonly onExpiry: (expiry: ExpiryChoice) => void;
}) {
  const { expiry, onExpiry } = props;
  const { t } = useI18n();
  const id = useId();
  return (
    <span className="flex items-center gap-2">
      <label htmlFor={id} className="text-sm text-soft">
        {t("queue.expiry")}
      </label>
      <Select
        id={id}
        className="w-32"
        value={expiry}
        onChange={({ target }) => onExpiry(target.value as ExpiryChoice)}
      >
        {expiryChoices.map((choice) => (
          <option key={choice} value={choice}>
            {t(`queue.expiry.${choice}`)}
          </option>
        ))}
      </Select>
    </span>
  );
}

export function QueuedNote({ reply }: { readonly reply: QueuedReply }) {
  const { t } = useI18n();
  const cancel = useCancelQueued();
  if (cancel.isSuccess) return <p role="status">{t("error.cancelled")}</p>;
  return (
    <div role="status" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm text-soft">
        <span className="flex items-center gap-1.5 font-medium text-accent-deep">
          <Icon name="clock" size={14} />
          {t("queue.done")}
        </span>
        <Expiry at={reply.expiresAt} />
        <Link href={callAddress(reply.callId)} className="rounded text-accent-deep underline">
          {t("queue.open")}
        </Link>
        <Button
          look="quiet"
          className="-mx-3 h-7"
          disabled={cancel.isPending}
          onClick={() => cancel.mutate(reply.callId)}
        >
          {t("action.cancel")}
        </Button>
      </div>
      {cancel.isError && <ProblemNote error={cancel.error} />}
    </div>
  );
}
