/** Why a control cannot be used right now, said beside it. */
import type { DeviceDetail, ToolList } from "@tendon/protocol";
import { Link } from "wouter";
import { useWords } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { toolAddress } from "../../shell/navigation.ts";

export type Blocked = "offline" | "notLive" | "confirm" | "denied";

/** Nothing that is done to the device can be done now. */
export function useAway({ online }: DeviceDetail): "offline" | "notLive" | undefined {
  const live = useIsLive();
  if (!live) return "notLive";
  return online ? undefined : "offline";
}

/**
 * The same for a tool that a control stands for; `missing` where the device has none, so that it never can be used, and
 * `unknown` while its list is on its way.
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
  const { t } = useWords();
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
