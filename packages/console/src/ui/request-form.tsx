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

interface CreationDialogProps extends Omit<RequestFormProps, "onCancel"> {
  readonly onClose: () => void;
  /** The secret that the request made. */
  readonly made: { readonly title: string; readonly secret: string } | undefined;
  readonly secretLabel: string;
  /** That the secret cannot be shown again. */
  readonly warning: string;
}

/** A dialog with a form that makes a secret, which is then shown once. */
export function CreationDialog({ onClose, made, secretLabel, warning, ...form }: CreationDialogProps) {
  return (
    <Dialog open onClose={onClose} wide title={made === undefined ? form.action : made.title}>
      {made === undefined ? (
        <RequestForm {...form} onCancel={onClose} />
      ) : (
        <ShownSecret secret={made.secret} label={secretLabel} warning={warning} onClose={onClose} />
      )}
    </Dialog>
  );
}
