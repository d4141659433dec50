import type { Device } from "@tendon/protocol";
import { useWords } from "../i18n/i18n.tsx";
import { useIsLive } from "../live/live-context.tsx";

/** A shape and a word, never colour alone; hollow where the page itself is not live. */
export function PresenceDot({ online }: { readonly online: boolean }) {
  const live = useIsLive();
  const { t } = useWords();
  const word = live ? (online ? t("device.online") : t("device.offline")) : t("device.lastKnown");
  const look = !live
    ? "border-soft border-dashed"
    : online
      ? "border-ok bg-ok"
      : "border-soft bg-transparent";
  return (
    <span
      role="img"
      aria-label={word}
      title={word}
      className={`inline-block size-2.5 shrink-0 rounded-full border-2 ${look}`}
    />
  );
}

export function presenceWord(
  t: ReturnType<typeof useWords>["t"],
  device: Pick<Device, "online">,
  live: boolean,
): string {
  if (!live) return device.online ? t("device.wasOnline") : t("device.wasOffline");
  return device.online ? t("device.online") : t("device.offline");
}
