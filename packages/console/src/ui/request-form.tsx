/** A form that sends one request: its fields, why the request failed, and its buttons. */
import type { ReactNode } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import type { IconName } from "./icon.tsx";
import { ProblemNote } from "./problem.tsx";
import { ShownSecret } from "./shown-secret.tsx";

interface Request {
  readonly isPending: boolean;
  readonly error: unknown;
}

interface RequestFormProps {
  readonly request: Request;
  readonly onSubmit: () => void;
  readonly action: string;
  readonly icon?: IconName;
  /** Whether the fields hold all that the request needs. */
  readonly ready?: boolean;
  /** For a form that fills a dialog. */
  readonly onCancel?: () => void;
  readonly children: ReactNode;
}

export function RequestForm(props: RequestFormProps) {
  const { request, onSubmit, action, icon, ready = true, onCancel, children } = props;
  const { t } = useI18n();
  return (
    <form
      className={`flex w-full flex-col gap-4 ${onCancel === undefined ? "" : "overflow-y-auto p-5"}`}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      {request.error !== null && <ProblemNote error={request.error} />}
      <div className={`flex flex-wrap gap-2 ${onCancel === undefined ? "" : "justify-end"}`}>
        {onCancel !== undefined && <Button onClick={onCancel}>{t("action.cancel")}</Button>}
        <Button
          type="submit"
          look="primary"
          {...(icon === undefined ? {} : { icon })}
          disabled={request.isPending || !ready}
        >
          {action}
        </Button>
      </div>
    </form>
  );
}

interface Creation<Request, Made> {
  readonly isPending: boolean;
  readonly error: unknown;
  readonly data: Made | undefined;
  readonly mutate: (request: Request) => void;
}

const secrets = {
  tokens: { action: "tokens.create", icon: "key" },
  webhooks: { action: "webhooks.add", icon: "bell" },
} as const;

interface CreationDialogProps<Request, Made> extends Pick<RequestFormProps, "ready" | "children"> {
  readonly of: keyof typeof secrets;
  readonly creation: Creation<Request, Made>;
  readonly request: () => Request;
  readonly secretOf: (made: Made) => string;
  readonly onClose: () => void;
}

/** A dialog with a form that makes a secret, which is then shown once. */
export function CreationDialog<Request, Made extends { readonly name: string }>(
  props: CreationDialogProps<Request, Made>,
) {
  const { of, creation, request, secretOf, onClose, ...form } = props;
  const { t } = useI18n();
  const { action, icon } = secrets[of];
  const made = creation.data;
  return (
    <Dialog
      open
      onClose={onClose}
      wide
      title={made === undefined ? t(action) : t(`${of}.ready`, { name: made.name })}
    >
      {made === undefined ? (
        <RequestForm
          {...form}
          action={t(action)}
          icon={icon}
          request={creation}
          onSubmit={() => creation.mutate(request())}
          onCancel={onClose}
        />
      ) : (
        <ShownSecret
          secret={secretOf(made)}
          label={t(`${of}.secret`)}
          warning={t(`${of}.once`)}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}
