/**
 * Dialogs without radix's overlay, because that overlay adds a style element, which the page's CSP blocks. The overlay
 * here is a plain element; radix handles focus, Escape and screen readers.
 */
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./button.tsx";
import { ProblemNote } from "./problem.tsx";

export function Dialog(props: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: string | undefined;
  readonly hideTitle?: boolean;
  readonly wide?: boolean;
  readonly top?: boolean;
  /** Whether the focus returns to the previous element; false where closing opens another page. */
  readonly returnsFocus?: () => boolean;
  readonly children: ReactNode;
}) {
  const { open, onClose, title, description, hideTitle = false, wide = false, top = false, children } = props;
  const { returnsFocus = () => true } = props;
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div
          className={`fixed inset-0 z-40 flex justify-center bg-shade p-4 ${top ? "items-start pt-[12vh]" : "items-center"}`}
        >
          <Radix.Content
            {...(description === undefined ? { "aria-describedby": undefined } : {})}
            onCloseAutoFocus={(event) => !returnsFocus() && event.preventDefault()}
            className={`pop flex max-h-full w-full flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-xl ${wide ? "max-w-2xl" : "max-w-md"}`}
          >
            <Radix.Title className={hideTitle ? "sr-only" : "px-5 pt-5 text-lg font-semibold"}>
              {title}
            </Radix.Title>
            {description !== undefined && (
              <Radix.Description className="px-5 pt-1 text-soft">{description}</Radix.Description>
            )}
            {children}
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
    <Dialog open={open} onClose={onClose} title={title} description={effect}>
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
