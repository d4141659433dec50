import { type ReactNode, useId, useState } from "react";
import { Icon, type IconName } from "./icon.tsx";

interface OpeningBarProps {
  readonly label: string;
  readonly icon: IconName;
  /** The icon's colour, as a class. */
  readonly tone: string;
  readonly text: string;
  /** What the bar says it does: open or close. */
  readonly action: (isOpen: boolean) => string;
  /** Shown while the bar is open. */
  readonly children: ReactNode;
}

/** A slim bar above a list, which opens. */
export function OpeningBar({ label, icon, tone, text, action, children }: OpeningBarProps) {
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <section aria-label={label} className="mb-4 rounded-xl border border-line bg-surface">
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="flex w-full items-center gap-2.5 rounded-xl px-4 py-2 text-left -outline-offset-2 hover:bg-raised"
      >
        <span className={tone}>
          <Icon name={icon} size={15} />
        </span>
        <span className="min-w-0 flex-1 truncate font-medium">{text}</span>
        <span className="text-sm text-accent-deep">{action(open)}</span>
        <span className={`text-soft transition-transform ${open ? "rotate-180" : ""}`}>
          <Icon name="down" size={12} />
        </span>
      </button>
      <div id={id} hidden={!open}>
        {open && children}
      </div>
    </section>
  );
}
