/** Buttons for device_control actions, as in existing apps. */
import type { DeviceDetail } from "@tendon/protocol";
import { useId } from "react";
import { useControl } from "../../api/calls.ts";
import { type Key, useI18n } from "../../i18n/i18n.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { BlockedNote, useAway } from "./blocked.tsx";

const buttons = [
  { action: "volume_down", icon: "minus", label: "control.down" },
  { action: "mute", icon: "mute", label: "control.mute" },
  { action: "unmute", icon: "volume", label: "control.unmute" },
  { action: "volume_up", icon: "plus", label: "control.up" },
] as const satisfies readonly { action: string; icon: IconName; label: Key }[];

interface VolumeResult {
  readonly structuredContent?: { readonly volume?: unknown };
}

export function ControlPad({
  device,
  needsApproval,
}: {
  readonly device: DeviceDetail;
  readonly needsApproval: boolean;
}) {
  const { t } = useI18n();
  const away = useAway(device);
  const note = useId();
  const control = useControl(device.id);
  const level = levelOf(control.data?.result);
  return (
    <section aria-label={t("control.title")} className="grid gap-3 p-4">
      <div className="grid grid-cols-4 gap-2">
        {buttons.map(({ action, icon, label }) => (
          <button
            key={action}
            type="button"
            title={action}
            disabled={away !== undefined || control.isPending}
            aria-describedby={away === undefined ? undefined : note}
            onClick={() => control.mutate(action)}
            className="flex h-14 flex-col items-center justify-center gap-1 rounded-lg border border-line bg-surface text-xs transition-colors hover:bg-raised disabled:opacity-50"
          >
            <Icon name={icon} size={18} />
            <span className="line-clamp-2 max-w-full px-1 text-center leading-tight">{t(label)}</span>
          </button>
        ))}
      </div>
      <p role="status" className="text-sm text-soft empty:hidden">
        {control.isPending && t("status.sending")}
        {control.isSuccess && (typeof level === "number" ? t("control.level", { level }) : t("outcome.ok"))}
      </p>
      {needsApproval && <p className="text-sm text-soft">{t("blocked.eachUse")}</p>}
      {away !== undefined && <BlockedNote id={note} why={away} device={device.id} />}
      {control.isError && <ProblemNote error={control.error} />}
    </section>
  );
}

function levelOf(result: unknown): unknown {
  const content =
    typeof result === "object" && result !== null ? (result as VolumeResult).structuredContent : undefined;
  return content?.volume;
}
