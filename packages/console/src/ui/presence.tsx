import type { Device } from "@tendon/protocol";
import { useI18n } from "../i18n/i18n.tsx";
import { useIsLive } from "../live/live-context.tsx";

/** Shows presence by shape and text, not by colour alone. The shape is hollow while the page is not live. */
export function PresenceDot({ online }: { readonly online: boolean }) {
  const live = useIsLive();
  const { t } = useI18n();
  const label = live ? (online ? t("device.online") : t("device.offline")) : t("device.lastKnown");
  const look = !live
    ? "border-soft border-dashed"
    : online
      ? "border-ok bg-ok"
      : "border-soft bg-transparent";
  return (
    <span
      role="img"
      aria-label={label}
      title={label}
      className={`inline-block size-2.5 shrink-0 rounded-full border-2 ${look}`}
    />
  );
}

export function presenceLabel(
  t: ReturnType<typeof useI18n>["t"],
  device: Pick<Device, "online">,
  live: boolean,
): string {
  if (!live) return device.online ? t("device.wasOnline") : t("device.wasOffline");
  return device.online ? t("device.online") : t("device.offline");
}
