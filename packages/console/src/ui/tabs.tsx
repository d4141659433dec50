import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

export interface Tab {
  readonly id: string;
  readonly title: string;
  readonly content: ReactNode;
}

export function Tabs({
  tabs,
  label,
  actions,
}: {
  readonly tabs: readonly Tab[];
  readonly label: string;
  readonly actions?: ReactNode;
}) {
  return (
    <Radix.Root defaultValue={tabs[0]?.id ?? ""} className="rounded-xl border border-line bg-surface">
      <div className="flex items-center justify-between gap-2 border-b border-line px-2">
        <Radix.List aria-label={label} className="flex overflow-x-auto">
          {tabs.map(({ id, title }) => (
            <Radix.Trigger
              key={id}
              value={id}
              className="-mb-px h-11 border-b-2 border-transparent px-3 text-soft whitespace-nowrap -outline-offset-2 hover:text-text data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-text"
            >
              {title}
            </Radix.Trigger>
          ))}
        </Radix.List>
        {actions}
      </div>
      {tabs.map(({ id, content }) => (
        <Radix.Content key={id} value={id} className="-outline-offset-2">
          {content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
