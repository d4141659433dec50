/** What the device does now, as controls: each moves at once, then shows what the device itself says. */
import type { DeviceDetail, ToolList } from "@tendon/protocol";
import { type ReactNode, useState } from "react";
import { useToolCall } from "../../api/calls.ts";
import type { useStatus } from "../../api/status.ts";
import { useWords } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { IconButton } from "../../ui/button.tsx";
import { Slider } from "../../ui/controls.tsx";
import { Select } from "../../ui/field.tsx";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Panel, Skeleton } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";
import { Vitals } from "../../ui/vitals.tsx";

type Fields = Readonly<Record<string, unknown>>;

function part(value: unknown, key: string): Fields {
  const found = typeof value === "object" && value !== null ? (value as Fields)[key] : undefined;
  return typeof found === "object" && found !== null ? (found as Fields) : {};
}

export function StatusPanel(props: {
  readonly device: DeviceDetail;
  readonly tools: ToolList | undefined;
  readonly status: ReturnType<typeof useStatus>;
}) {
  const { device, tools, status } = props;
  const { t } = useWords();
  const live = useIsLive();
  const usable = (name: string) =>
    device.online &&
    live &&
    tools?.tools.some((tool) => tool.name === name && tool.access === "allowed") === true;
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
      <div className={`grid gap-4 px-4 pt-2 pb-4 ${device.online && live ? "" : "opacity-70"}`}>
        {!(device.online && live) && device.status !== null && (
          <p className="text-sm text-soft">{t("status.memory")}</p>
        )}
        {nothing && <p className="text-soft">{t(status.can ? "status.unknown" : "status.none")}</p>}
        {device.status === null && status.isPending && <Skeleton className="h-24 w-full" />}
        {typeof volume === "number" && (
          <LevelControl
            device={device.id}
            icon="volume"
            label={t("status.volume")}
            value={volume}
            tool="self.audio_speaker.set_volume"
            field="volume"
            enabled={usable("self.audio_speaker.set_volume")}
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
            enabled={usable("self.screen.set_brightness")}
            confirm={status.refresh}
          />
        )}
        {typeof theme === "string" && (
          <ThemeControl
            device={device.id}
            theme={theme}
            enabled={usable("self.screen.set_theme")}
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
  readonly enabled: boolean;
  /** Asks the device what it says now. */
  readonly confirm: () => Promise<unknown>;
}

/** What was wished for, while the device has not said what it made of it. */
function useWish<Value>(told: Value) {
  const [wish, setWish] = useState<Value>();
  return { shown: wish ?? told, setWish };
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
  const { device, icon, label, value, tool, field, enabled, confirm } = props;
  const { t } = useWords();
  const call = useToolCall(device);
  const { shown, setWish } = useWish(value);
  const send = async (next: number) => {
    setWish(next);
    try {
      await call.mutateAsync({ tool, args: { [field]: next } });
      await confirm();
    } catch {
      // The words stand below.
    } finally {
      setWish(undefined);
    }
  };
  return (
    <div className="grid gap-1">
      <Row icon={icon} label={label}>
        <span className="flex items-center gap-3">
          <Slider
            label={label}
            min={0}
            max={100}
            value={shown}
            disabled={!enabled}
            onChange={setWish}
            onCommit={(next) => void send(next)}
          />
          <output aria-live="polite" className="w-16 text-right text-sm">
            {call.isPending ? <span className="text-soft">{t("status.sending")}</span> : `${shown} %`}
          </output>
        </span>
      </Row>
      {call.isError && <ProblemNote error={call.error} />}
    </div>
  );
}

function ThemeControl({ device, theme, enabled, confirm }: ControlProps & { readonly theme: string }) {
  const { t } = useWords();
  const call = useToolCall(device);
  const { shown, setWish } = useWish(theme);
  const send = async (next: string) => {
    setWish(next);
    try {
      await call.mutateAsync({ tool: "self.screen.set_theme", args: { theme: next } });
      await confirm();
    } catch {
      // The words stand below.
    } finally {
      setWish(undefined);
    }
  };
  const known = ["light", "dark"] as const;
  return (
    <div className="grid gap-1">
      <Row icon="screen" label={t("status.theme")}>
        <Select
          aria-label={t("status.theme")}
          disabled={!enabled || call.isPending}
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
      {call.isError && <ProblemNote error={call.error} />}
    </div>
  );
}
