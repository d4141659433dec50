/** The reason why a control is disabled, shown beside it. */
import type { DeviceDetail, ToolList } from "@tendon/protocol";
import { Link } from "wouter";
import { useI18n } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { toolAddress } from "../../shell/navigation.ts";

export type Blocked = "offline" | "notLive" | "confirm" | "denied" | "quarantined";

/** The reason why no control of the device can be used. */
export function useAway({ online }: DeviceDetail): "offline" | "notLive" | undefined {
  const live = useIsLive();
  if (!live) return "notLive";
  return online ? undefined : "offline";
}

/**
 * The reason why the tool behind a control cannot be used: `missing` if the device has no such tool, `unknown` while its
 * tool list is loading.
 */
export function blockedTool(
  tools: ToolList | undefined,
  name: string,
  away: "offline" | "notLive" | undefined,
): Blocked | "missing" | "unknown" | undefined {
  if (tools === undefined) return "unknown";
  const access = tools.tools.find((tool) => tool.name === name)?.access;
  if (access === undefined) return "missing";
  return access === "allowed" ? away : access;
}

export function BlockedNote(props: {
  readonly id: string;
  readonly why: Blocked;
  readonly device: string;
  readonly tool?: string;
}) {
  const { id, why, device, tool } = props;
  const { t } = useI18n();
  return (
    <p id={id} className="text-sm text-soft">
      {t(`blocked.${why}`)}
      {why === "confirm" && tool !== undefined && (
        <>
          {" "}
          <Link href={toolAddress(device, tool)} className="text-accent-deep underline underline-offset-2">
            {t("blocked.ask")}
          </Link>
        </>
      )}
    </p>
  );
}
