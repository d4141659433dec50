/** The kinds of devices that are not boards: each has its own name and icon. */
import type { Device } from "@tendon/protocol";
import { useI18n } from "../i18n/i18n.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface Kind {
  readonly name: "device.server" | "device.provider" | "device.program";
  readonly icon: IconName;
}

const kinds: Readonly<Record<string, Kind>> = {
  http: { name: "device.server", icon: "globe" },
  endpoint: { name: "device.provider", icon: "incoming" },
  process: { name: "device.program", icon: "terminal" },
};

/** `undefined` for a board. */
export function kindOf({ kind }: Pick<Device, "kind">): Kind | undefined {
  return kinds[kind];
}

/** The icon of a device that is not a board, with its name for screen readers. */
export function KindIcon({ device, size = 14 }: { readonly device: Device; readonly size?: number }) {
  const { t } = useI18n();
  const kind = kindOf(device);
  if (kind === undefined) return null;
  return (
    <span title={t(kind.name)} className="flex shrink-0 text-soft">
      <Icon name={kind.icon} size={size} />
      <span className="sr-only">{t(kind.name)}</span>
    </span>
  );
}
