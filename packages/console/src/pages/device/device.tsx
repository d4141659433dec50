/** One device: its details and status, its tools, and its activity. */

import { useQuery } from "@tanstack/react-query";
import { consolePaths, type DeviceDetail } from "@tendon/protocol";
import { useCallback, useEffect } from "react";
import { Redirect, useLocation, useParams } from "wouter";
import { useConversations } from "../../api/conversations.ts";
import { deviceQuery, toolsQuery } from "../../api/queries.ts";
import { queuedQuery } from "../../api/queued-calls.ts";
import { useSession } from "../../api/session.tsx";
import { statusTool, useStatus } from "../../api/status.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { deviceAddress, readAddressPart } from "../../shell/navigation.ts";
import { ConversationDetails, ConversationState } from "../../ui/conversation.tsx";
import { kindOf } from "../../ui/device-kind.tsx";
import { useEscape } from "../../ui/keyboard.ts";
import { ProblemNote } from "../../ui/problem.tsx";
import { Panel, SkeletonRows } from "../../ui/states.tsx";
import { QueuedList } from "../calls/queued-list.tsx";
import { ActivityTabs } from "./activity-tabs.tsx";
import { ControlPad } from "./control-pad.tsx";
import { DeviceHeader } from "./device-header.tsx";
import { PhotoPanel } from "./photo-panel.tsx";
import { ProgramPanel } from "./program-panel.tsx";
import { offersScreenshots, ScreenshotPanel, screenshotTool } from "./screenshot-panel.tsx";
import { StatusPanel } from "./status-panel.tsx";
import { ToolsPanel } from "./tools-panel.tsx";

export function DevicePage() {
  const { device: written = "" } = useParams<{ device: string }>();
  const { data, error } = useQuery(deviceQuery(readAddressPart(written)));
  if (error !== null) return <ProblemNote error={error} addressOf={deviceAddress} />;
  if (data === undefined) return <SkeletonRows />;
  // Events contain ids, while the address may contain an alias.
  if (data.id !== written)
    return <Redirect to={`${deviceAddress(data.id)}${window.location.hash}`} replace />;
  // Keyed by device, so that forms and results are not kept for another device.
  return <Device key={data.id} device={data} />;
}

const photoTool = "self.camera.take_photo";
const volumeTool = "self.audio_speaker.set_volume";

function Device({ device }: { readonly device: DeviceDetail }) {
  const { t } = useI18n();
  const { may } = useSession();
  const tools = useQuery(toolsQuery(device.id));
  const status = useStatus(device, tools.data, may("call"));
  const accessTo = (name: string) => tools.data?.tools.find((tool) => tool.name === name)?.access ?? "denied";
  const has = (name: string) => accessTo(name) !== "denied";
  const isBoard = kindOf(device) === undefined;
  const userTools = tools.data?.tools.filter(({ audience }) => audience === "user") ?? [];
  const [, navigate] = useLocation();
  useEscape(useCallback(() => navigate(consolePaths.fleet), [navigate]));
  useEffect(() => {
    document.title = `${device.alias} · Tendon`;
  }, [device.alias]);
  return (
    <div className="flex flex-col gap-5">
      <DeviceHeader device={device} />
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,5fr)_minmax(0,7fr)]">
        <div className="grid grid-cols-1 gap-5">
          {isBoard && <VoicePanel device={device} />}
          {device.waitingCalls > 0 && <QueuePanel device={device} />}
          {!isBoard && <ProgramPanel device={device} />}
          {(isBoard || device.status !== null || has(statusTool)) && (
            <StatusPanel device={device} tools={tools.data} status={status}>
              {may("call") && has(volumeTool) && (
                <ControlPad device={device} needsApproval={accessTo(volumeTool) === "confirm"} />
              )}
            </StatusPanel>
          )}
          {may("call") && has(photoTool) && (
            <PhotoPanel device={device} needsApproval={accessTo(photoTool) === "confirm"} />
          )}
          {may("call") && offersScreenshots(tools.data?.tools) && (
            <ScreenshotPanel device={device} needsApproval={accessTo(screenshotTool) === "confirm"} />
          )}
        </div>
        <div className="grid min-w-0 gap-5">
          {tools.isError && <ProblemNote error={tools.error} />}
          {tools.isPending && <SkeletonRows />}
          {tools.data !== undefined && (
            <>
              <ToolsPanel
                device={device}
                title={t("tools.agent")}
                lead={t("tools.agentLead")}
                tools={tools.data.tools.filter(({ audience }) => audience === "agent")}
                problem={tools.data.problem}
              />
              {(isBoard || userTools.length > 0) && (
                <ToolsPanel
                  device={device}
                  userOnly
                  title={t("tools.user")}
                  lead={t("tools.userLead")}
                  tools={userTools}
                />
              )}
            </>
          )}
        </div>
      </div>
      <ActivityTabs device={device} />
    </div>
  );
}

/** Shown only while the board has a conversation with its voice server. */
function VoicePanel({ device }: { readonly device: DeviceDetail }) {
  const { t } = useI18n();
  const { conversations, fresh } = useConversations();
  const conversation = conversations?.find((each) => each.device === device.id);
  if (conversation === undefined) return null;
  return (
    <Panel title={t("voice.title")} actions={<ConversationState conversation={conversation} fresh={fresh} />}>
      <div className="px-4 pt-1 pb-4">
        <ConversationDetails conversation={conversation} fresh={fresh} />
        {!fresh && <p className="mt-3 text-sm text-soft">{t("live.memory")}</p>}
      </div>
    </Panel>
  );
}

/** The calls that wait until the device is online. */
function QueuePanel({ device }: { readonly device: DeviceDetail }) {
  const { t, n } = useI18n();
  const { data } = useQuery(queuedQuery(device.id));
  return (
    <Panel
      title={t("queue.title")}
      actions={<span className="text-sm text-soft">{n("fleet.waiting", device.waitingCalls)}</span>}
    >
      <p className="px-4 pb-2 text-sm text-soft">{t("queue.lead")}</p>
      {data === undefined ? <SkeletonRows rows={1} /> : <QueuedList calls={data.calls} hideDevice />}
    </Panel>
  );
}
