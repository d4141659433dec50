/** The device's status as controls. Each shows the new value at once, then the value that the device reports. */
import type { DeviceDetail, ToolList } from "@tendon/protocol";
import { type ReactNode, useId, useState } from "react";
import { useToolCall } from "../../api/calls.ts";
import { statusTool, type useStatus } from "../../api/status.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { IconButton } from "../../ui/button.tsx";
import { LevelInput, Segments, Slider } from "../../ui/controls.tsx";
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
  /** Buttons below the controls. */
  readonly children?: ReactNode;
}) {
  const { device, tools, status, children } = props;
  const { t } = useI18n();
  const away = useAway(device);
  const blocked = (name: string) => blockedTool(tools, name, away);
  const memoryNote = useId();
  const value = device.status?.value;
  const { volume } = part(value, "audio_speaker");
  const { brightness, theme } = part(value, "screen");
  const nothing = device.status === null && !status.isPending;
  const control = { device: device.id, memoryNote, confirm: status.refresh };
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
      <div className="grid gap-5 px-4 pt-2 pb-4">
        {away !== undefined && device.status !== null && (
          <p id={memoryNote} className="text-sm text-soft">
            {t(away === "notLive" ? "status.gatewayMemory" : "status.memory")}
          </p>
        )}
        {nothing && <p className="text-soft">{t(whyNoStatus(tools, away))}</p>}
        {device.status === null && status.isPending && <Skeleton className="h-24 w-full" />}
        <Facts device={device} />
        {typeof volume === "number" && (
          <LevelControl
            {...control}
            icon="volume"
            label={t("status.volume")}
            value={volume}
            tool="self.audio_speaker.set_volume"
            field="volume"
            blocked={blocked("self.audio_speaker.set_volume")}
          />
        )}
        {typeof brightness === "number" && (
          <LevelControl
            {...control}
            icon="sun"
            label={t("status.brightness")}
            value={brightness}
            tool="self.screen.set_brightness"
            field="brightness"
            blocked={blocked("self.screen.set_brightness")}
          />
        )}
        {typeof theme === "string" && (
          <ThemeControl {...control} theme={theme} blocked={blocked("self.screen.set_theme")} />
        )}
        {status.error !== null && <ProblemNote error={status.error} />}
      </div>
      {children !== undefined && children !== null && children !== false && (
        <div className="border-t border-line">{children}</div>
      )}
    </Panel>
  );
}

/** What the device measures: battery, network and temperature, as it reported them last. */
function Facts({ device: { status, vitals } }: { readonly device: DeviceDetail }) {
  const { t, number } = useI18n();
  const network = part(status?.value, "network");
  const { temperature } = part(status?.value, "chip");
  const signal = vitals?.signal ?? null;
  const name = [network["ssid"], network["carrier"], network["type"]].find(
    (word) => typeof word === "string",
  );
  const facts = [
    ...(vitals !== null && vitals.battery !== null
      ? [{ name: t("status.power"), value: <Vitals vitals={{ ...vitals, signal: null }} /> }]
      : []),
    ...(typeof name === "string"
      ? [
          {
            name: t("status.network"),
            value: (
              <span className="flex min-w-0 items-center gap-2">
                <span className="truncate">{name}</span>
                {vitals !== null && signal !== null && <Vitals vitals={{ ...vitals, battery: null }} />}
              </span>
            ),
          },
        ]
      : []),
    ...(typeof temperature === "number"
      ? [{ name: t("status.temperature"), value: `${number(Math.round(temperature * 10) / 10)} °C` }]
      : []),
  ];
  if (facts.length === 0) return null;
  return (
    <dl className="grid grid-cols-2 gap-x-4 gap-y-3 sm:grid-cols-3">
      {facts.map(({ name: label, value }) => (
        <div key={label} className="min-w-0">
          <dt className="text-xs text-soft">{label}</dt>
          <dd className="mt-0.5 text-lg">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A control with its name above it, and its value beside the name. */
function Row(props: {
  readonly icon: IconName;
  readonly label: string;
  readonly value?: ReactNode;
  readonly children?: ReactNode;
}) {
  const { icon, label, value, children } = props;
  return (
    <div className="grid gap-1.5">
      <div className="flex min-h-8 items-center justify-between gap-3">
        <span className="flex items-center gap-2">
          <span className="text-soft">
            <Icon name={icon} size={15} />
          </span>
          {label}
        </span>
        {value}
      </div>
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
  const [problem, setProblem] = useState<string>();
  const problemNote = useId();
  /** Moving the slider discards a typed number that was not sent. */
  const [moves, setMoves] = useState(0);
  const move = (next: number) => {
    setPending(next);
    if (problem === undefined) return;
    setProblem(undefined);
    setMoves((count) => count + 1);
  };
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
  if (blocked === "missing") return <Row icon={icon} label={label} value={<span>{value} %</span>} />;
  const disabled = blocked !== undefined;
  return (
    <div className="grid gap-1">
      <Row
        icon={icon}
        label={label}
        value={
          <span className="flex items-center gap-2 text-sm">
            <output aria-live="polite" className="text-soft">
              {call.isPending && t("status.sending")}
            </output>
            <LevelInput
              key={moves}
              label={label}
              min={0}
              max={100}
              value={shown}
              disabled={disabled}
              problem={problem}
              onProblem={setProblem}
              describedBy={problem === undefined ? describedBy : problemNote}
              onCommit={(next) => void send(next)}
            />
            %
          </span>
        }
      >
        <Slider
          label={label}
          min={0}
          max={100}
          value={shown}
          disabled={disabled}
          describedBy={describedBy}
          onChange={move}
          onCommit={(next) => void send(next)}
        />
      </Row>
      <p id={problemNote} role="alert" className="text-right text-sm text-bad empty:hidden">
        {problem}
      </p>
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
  const nameOf = (each: string) => {
    const named = known.find((other) => other === each);
    return named === undefined ? each : t(`theme.${named}`);
  };
  if (blocked === "missing")
    return <Row icon="screen" label={t("status.theme")} value={<span>{nameOf(theme)}</span>} />;
  const choices = [...new Set<string>([...known, shown])];
  return (
    <div className="grid gap-1">
      <Row
        icon="screen"
        label={t("status.theme")}
        value={
          <Segments
            label={t("status.theme")}
            describedBy={describedBy}
            disabled={blocked !== undefined || call.isPending}
            value={shown}
            choices={choices.map((each) => ({ value: each, label: nameOf(each) }))}
            onChange={(next) => void send(next)}
          />
        }
      />
      {note}
      {call.isError && <ProblemNote error={call.error} />}
    </div>
  );
}
