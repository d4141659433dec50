import type { CallReply, DeviceDetail, Tool } from "@tendon/protocol";
import { useId } from "react";
import { useToolCall } from "../../api/calls.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { Panel } from "../../ui/states.tsx";
import { BlockedNote, useAway } from "./blocked.tsx";
import { PictureOutcome } from "./picture-outcome.tsx";

export const screenshotTool = "self.screen.snapshot";

/** Whether the user may take screenshots, and the gateway receives them: the tool then has no required argument. */
export function offersScreenshots(tools: readonly Tool[] | undefined): boolean {
  const found = tools?.find(({ name }) => name === screenshotTool);
  if (found === undefined || found.access === "denied") return false;
  const { required } = found.inputSchema;
  return !Array.isArray(required) || required.length === 0;
}

/** Takes a screenshot and shows it. */
export function ScreenshotPanel({
  device,
  needsApproval,
}: {
  readonly device: DeviceDetail;
  readonly needsApproval: boolean;
}) {
  const { t } = useI18n();
  const away = useAway(device);
  const note = useId();
  const call = useToolCall(device.id);
  return (
    <Panel
      title={t("screenshot.title")}
      actions={
        <Button
          icon="screen"
          disabled={away !== undefined || call.isPending}
          aria-describedby={away === undefined ? undefined : note}
          onClick={() => call.mutate({ tool: screenshotTool, args: {} })}
        >
          {t("screenshot.take")}
        </Button>
      }
    >
      <div className="px-4 pt-1 pb-4">
        {call.isIdle && away === undefined && <p className="text-sm text-soft">{t("screenshot.lead")}</p>}
        {away !== undefined && <BlockedNote id={note} why={away} device={device.id} />}
        <PictureOutcome call={call} needsApproval={needsApproval} shown={pictureOnly} />
      </div>
    </Panel>
  );
}

/** Without the board's `true`. */
function pictureOnly(reply: CallReply): CallReply {
  const pictures = reply.result.content.filter(({ type }) => type === "image");
  return pictures.length === 0 ? reply : { ...reply, result: { ...reply.result, content: pictures } };
}
