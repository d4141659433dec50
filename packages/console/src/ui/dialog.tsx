/**
 * Dialogs without radix's overlay, because that overlay adds a style element, which the page's CSP blocks. The overlay
 * here is a plain element; radix handles focus, Escape and screen readers.
 */
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { Button, IconButton } from "./button.tsx";
import { ProblemNote } from "./problem.tsx";

export function Dialog(props: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: string | undefined;
  readonly hideTitle?: boolean;
  readonly wide?: boolean;
  readonly top?: boolean;
  /** Whether the dialog has a button of its own that closes it, such as Cancel. */
  readonly ownClose?: boolean;
  /** Whether the focus returns to the previous element; false where closing opens another page. */
  readonly returnsFocus?: () => boolean;
  readonly children: ReactNode;
}) {
  const { open, onClose, title, description, hideTitle = false, wide = false, top = false, children } = props;
  const { returnsFocus = () => true, ownClose = false } = props;
  const { t } = useI18n();
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div
          className={`fixed inset-0 z-40 flex justify-center bg-shade p-4 ${top ? "items-start pt-[12vh]" : "items-center"}`}
        >
          <Radix.Content
            {...(description === undefined ? { "aria-describedby": undefined } : {})}
            onCloseAutoFocus={(event) => !returnsFocus() && event.preventDefault()}
            className={`pop relative flex max-h-full w-full flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-xl ${wide ? "max-w-2xl" : "max-w-md"}`}
          >
            <Radix.Title
              className={
                hideTitle ? "sr-only" : `pt-5 pl-5 text-lg font-semibold ${ownClose ? "pr-5" : "pr-14"}`
              }
            >
              {title}
            </Radix.Title>
            {description !== undefined && (
              <Radix.Description className="px-5 pt-1 text-soft">{description}</Radix.Description>
            )}
            {children}
            {/* Last, so that a dialog opens with the focus on its first field. */}
            {!ownClose && (
              <span className={`absolute ${hideTitle ? "top-2 right-2" : "top-4 right-4"}`}>
                <IconButton icon="cross" label={t("action.close")} onClick={onClose} />
              </span>
            )}
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Asks for confirmation before an action that cannot be undone. Cancel has the focus. */
export function Confirm(props: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly title: string;
  readonly effect: string;
  readonly action: string;
  /** Whether the action destroys something, which marks its button. True by default. */
  readonly danger?: boolean;
  /** What confirming does: while it runs it cannot be confirmed again, and why it failed is shown. */
  readonly request?: { readonly isPending: boolean; readonly error: unknown };
  readonly children?: ReactNode;
}) {
  const { open, onClose, onConfirm, title, effect, action, danger = true, request, children } = props;
  const { t } = useI18n();
  return (
    <Dialog open={open} onClose={onClose} title={title} description={effect} ownClose>
      <div className="flex flex-col gap-4 overflow-y-auto p-5">
        {children}
        {request !== undefined && request.error !== null && <ProblemNote error={request.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button autoFocus onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            look={danger ? "danger" : "primary"}
            disabled={request?.isPending ?? false}
            onClick={onConfirm}
          >
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
