import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

/** Not modal, because a modal menu adds style elements, which the page's CSP blocks. */
export function Menu(props: {
  readonly trigger: ReactNode;
  readonly children: ReactNode;
  readonly side?: "top" | "bottom";
  readonly align?: "start" | "end";
}) {
  const { trigger, children, side = "bottom", align = "end" } = props;
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          side={side}
          align={align}
          sideOffset={6}
          collisionPadding={8}
          className="pop z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-44 overflow-y-auto rounded-lg border border-line bg-surface p-1 shadow-lg"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export function MenuItem(props: {
  readonly icon?: IconName;
  readonly onSelect: () => void;
  readonly children: ReactNode;
  readonly danger?: boolean;
  readonly checked?: boolean | undefined;
}) {
  const { icon, onSelect, children, danger = false, checked } = props;
  return (
    <DropdownMenu.Item
      onSelect={onSelect}
      className={`flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-base outline-none data-highlighted:bg-raised ${danger ? "text-bad" : ""}`}
    >
      {icon !== undefined && <Icon name={icon} size={15} />}
      <span className="flex-1">{children}</span>
      {checked === true && <Icon name="check" size={14} />}
    </DropdownMenu.Item>
  );
}

export function MenuLabel({ children }: { readonly children: ReactNode }) {
  return <DropdownMenu.Label className="px-2 pt-2 pb-1 text-xs text-soft">{children}</DropdownMenu.Label>;
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}
