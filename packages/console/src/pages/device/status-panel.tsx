/** The device's status as controls. Each shows the new value at once, then the value that the device reports. */
import type { DeviceDetail, ToolList } from "@tendon/protocol";
import { type ReactNode, useId, useState } from "react";
import { useToolCall } from "../../api/calls.ts";
import { statusTool, type useStatus } from "../../api/status.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { IconButton } from "../../ui/button.tsx";
import { Slider } from "../../ui/controls.tsx";
import { Select } from "../../ui/field.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Panel, Skeleton } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";
import { Vitals } from "../../ui/vitals.tsx";
import { BlockedNote, blockedTool, useAway } from "./blocked.tsx";

type Fields = Readonly<Record<string, unknown>>;

function part(value: unknown, key: string): Fields {
  const found = typeof value === "object" && value !== null ? (value as Fields)[key] : undefined;
  return typeof found === "object" && found !== null ? (found as Fields) : {};
}

/** An unknown status is the device's own only while the gateway answers. */
function whyNoStatus(tools: ToolList | undefined, away: ReturnType<typeof useAway>) {
  if (away === "notLive") return "status.gatewayAway";
  const reports = tools === undefined || tools.tools.some(({ name }) => name === statusTool);
  return reports ? "status.unknown" : "status.none";
}

export function StatusPanel(props: {
  readonly device: DeviceDetail;
  readonly tools: ToolList | undefined;
  readonly status: ReturnType<typeof useStatus>;
}) {
  const { device, tools, status } = props;
  const { t } = useI18n();
  const away = useAway(device);
  const blocked = (name: string) => blockedTool(tools, name, away);
  const memoryNote = useId();
  const value = device.status?.value;
  const { volume } = part(value, "audio_speaker");
  const { brightness, theme } = part(value, "screen");
  const network = part(value, "network");
  const nothing = device.status === null && !status.isPending;
  return (
    <Panel
      title={t("status.title")}
      actions={
        <span className="flex items-center gap-1 text-sm text-soft">
          {device.status !== null && <Ago at={device.status.at} />}
          <IconButton
            icon="refresh"
            label={t("status.refresh")}
            disabled={!status.can || status.isPending}
            onClick={() => void status.refresh().catch(() => undefined)}
          />
        </span>
      }
    >
      <div className={`grid gap-4 px-4 pt-2 pb-4 ${away === undefined ? "" : "opacity-70"}`}>
        {away !== undefined && device.status !== null && (
          <p id={memoryNote} className="text-sm text-soft">
            {t(away === "notLive" ? "status.gatewayMemory" : "status.memory")}
          </p>
        )}
        {nothing && <p className="text-soft">{t(whyNoStatus(tools, away))}</p>}
        {device.status === null && status.isPending && <Skeleton className="h-24 w-full" />}
        {typeof volume === "number" && (
          <LevelControl
            device={device.id}
            icon="volume"
            label={t("status.volume")}
            value={volume}
            tool="self.audio_speaker.set_volume"
            field="volume"
            blocked={blocked("self.audio_speaker.set_volume")}
            memoryNote={memoryNote}
            confirm={status.refresh}
          />
        )}
        {typeof brightness === "number" && (
          <LevelControl
            device={device.id}
            icon="sun"
            label={t("status.brightness")}
            value={brightness}
            tool="self.screen.set_brightness"
            field="brightness"
            blocked={blocked("self.screen.set_brightness")}
            memoryNote={memoryNote}
            confirm={status.refresh}
          />
        )}
        {typeof theme === "string" && (
          <ThemeControl
            device={device.id}
            theme={theme}
            blocked={blocked("self.screen.set_theme")}
            memoryNote={memoryNote}
            confirm={status.refresh}
          />
        )}
        {typeof network["type"] === "string" && (
          <Row icon="wifi" label={t("status.network")}>
            <span className="flex min-w-0 items-center gap-3">
              <span className="truncate">
                {[network["type"], network["ssid"]].filter((word) => typeof word === "string").join(" · ")}
              </span>
              {device.vitals !== null && <Vitals vitals={{ ...device.vitals, battery: null }} />}
            </span>
          </Row>
        )}
        {device.vitals !== null && device.vitals.battery !== null && (
          <Row icon="battery" label={t("status.power")}>
            <Vitals vitals={{ ...device.vitals, signal: null }} />
          </Row>
        )}
        {status.error !== null && <ProblemNote error={status.error} />}
      </div>
    </Panel>
  );
}

function Row({
  icon,
  label,
  children,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="grid grid-cols-[7.5rem_minmax(0,1fr)] items-center gap-3">
      <span className="flex items-center gap-2 text-soft">
        <Icon name={icon} size={15} />
        {label}
      </span>
      {children}
    </div>
  );
}

interface ControlProps {
  readonly device: string;
  readonly blocked: ReturnType<typeof blockedTool>;
  /** Id of the panel's note that its values are not live. */
  readonly memoryNote: string;
  /** Reads the device's status again. */
  readonly confirm: () => Promise<unknown>;
}

/** The id of the note that explains why a control is disabled: its own, or the panel's. */
function useReason({ device, blocked, memoryNote }: Omit<ControlProps, "confirm">, tool: string) {
  const id = useId();
  if (blocked === "offline" || blocked === "notLive") return { describedBy: memoryNote, note: null };
  if (blocked !== "confirm" && blocked !== "denied") return { describedBy: undefined, note: null };
  return { describedBy: id, note: <BlockedNote id={id} why={blocked} device={device} tool={tool} /> };
}

/** The value that the user set, until the device reports its own. */
function usePendingValue<Value>(reported: Value) {
  const [pending, setPending] = useState<Value>();
  return { shown: pending ?? reported, setPending };
}

function LevelControl(
  props: ControlProps & {
    readonly icon: IconName;
    readonly label: string;
    readonly value: number;
    readonly tool: string;
    readonly field: string;
  },
) {
  const { device, icon, label, value, tool, field, blocked, confirm } = props;
  const { t } = useI18n();
  const call = useToolCall(device);
  const { shown, setPending } = usePendingValue(value);
  const { describedBy, note } = useReason(props, tool);
  const send = async (next: number) => {
    setPending(next);
    try {
      await call.mutateAsync({ tool, args: { [field]: next } });
      await confirm();
    } catch {
      // The error is shown below.
    } finally {
      setPending(undefined);
    }
  };
  // Without a tool that sets the value, there is no slider.
  if (blocked === "missing") {
    return (
      <Row icon={icon} label={label}>
        <span>{value} %</span>
      </Row>
    );
  }
  return (
    <div className="grid gap-1">
      <Row icon={icon} label={label}>
        <span className="flex items-center gap-3">
          <Slider
            label={label}
            min={0}
            max={100}
            value={shown}
            disabled={blocked !== undefined}
            describedBy={describedBy}
            onChange={setPending}
            onCommit={(next) => void send(next)}
          />
          <output aria-live="polite" className="w-16 text-right text-sm">
            {call.isPending ? <span className="text-soft">{t("status.sending")}</span> : `${shown} %`}
          </output>
        </span>
      </Row>
      {note}
      {call.isError && <ProblemNote error={call.error} />}
    </div>
  );
}

const themeTool = "self.screen.set_theme";

function ThemeControl(props: ControlProps & { readonly theme: string }) {
  const { device, theme, blocked, confirm } = props;
  const { t } = useI18n();
  const call = useToolCall(device);
  const { shown, setPending } = usePendingValue(theme);
  const { describedBy, note } = useReason(props, themeTool);
  const send = async (next: string) => {
    setPending(next);
    try {
      await call.mutateAsync({ tool: themeTool, args: { theme: next } });
      await confirm();
    } catch {
      // The error is shown below.
    } finally {
      setPending(undefined);
    }
  };
  const known = ["light", "dark"] as const;
  if (blocked === "missing") {
    const named = known.find((each) => each === theme);
    return (
      <Row icon="screen" label={t("status.theme")}>
        <span>{named === undefined ? theme : t(`theme.${named}`)}</span>
      </Row>
    );
  }
  return (
    <div className="grid gap-1">
      <Row icon="screen" label={t("status.theme")}>
        <Select
          aria-label={t("status.theme")}
          aria-describedby={describedBy}
          disabled={blocked !== undefined || call.isPending}
          value={shown}
          onChange={({ target }) => void send(target.value)}
        >
          {known.map((each) => (
            <option key={each} value={each}>
              {t(`theme.${each}`)}
            </option>
          ))}
          {!known.some((each) => each === shown) && <option value={shown}>{shown}</option>}
        </Select>
      </Row>
      {note}
      {call.isError && <ProblemNote error={call.error} />}
    </div>
  );
}
