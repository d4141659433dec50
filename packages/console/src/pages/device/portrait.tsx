/** A small picture of the device as it is now: awake or asleep, with its screen's theme and brightness and its volume. */
import type { DeviceDetail } from "@tendon/protocol";
import { kindOf } from "../../ui/device-kind.tsx";
import { Icon } from "../../ui/icon.tsx";

/** Colours of a screen, which do not follow the theme of the page. */
const screens = { light: ["#f7f7fb", "#23242b"], dark: ["#15161b", "#f1f1f6"] } as const;
const volumeSteps = 5;

export function Portrait({ device, live }: { readonly device: DeviceDetail; readonly live: boolean }) {
  const awake = device.online && live;
  const kind = kindOf(device);
  if (kind !== undefined)
    return (
      <span
        aria-hidden="true"
        className={`flex size-16 shrink-0 items-center justify-center rounded-2xl ${awake ? "bg-accent-soft text-accent-deep" : "bg-raised text-soft"}`}
      >
        <Icon name={kind.icon} size={28} />
      </span>
    );
  const screen = fieldsOf(device.status?.value["screen"]);
  const { volume } = fieldsOf(device.status?.value["audio_speaker"]);
  const [paper, ink] = screens[screen["theme"] === "light" ? "light" : "dark"];
  const brightness = typeof screen["brightness"] === "number" ? screen["brightness"] : 100;
  const lit = typeof volume === "number" ? Math.ceil((volume / 100) * volumeSteps) : 0;
  return (
    <svg aria-hidden="true" viewBox="0 0 64 64" className="size-16 shrink-0">
      <rect x="1" y="1" width="62" height="62" rx="15" className="fill-raised stroke-line-strong" />
      <rect x="9" y="10" width="46" height="32" rx="5" fill={paper} />
      <g stroke={ink} strokeWidth="3" strokeLinecap="round" fill="none">
        {awake ? (
          <path d="M24 22v4M40 22v4M26 33c4 3 8 3 12 0" />
        ) : (
          <path d="M21 25c2 1.500 4 1.500 6 0M37 25c2 1.500 4 1.500 6 0M30 33h4" />
        )}
      </g>
      {/* The screen never becomes black, as on a board. */}
      <rect
        x="9"
        y="10"
        width="46"
        height="32"
        rx="5"
        fill="#000000"
        opacity={awake ? 0.6 * (1 - Math.min(100, brightness) / 100) : 0.5}
      />
      {Array.from({ length: volumeSteps }, (_, at) => at).map((at) => (
        <circle
          key={at}
          cx={16 + at * 8}
          cy="52"
          r="2.2"
          className={awake && at < lit ? "fill-accent" : "fill-line-strong"}
        />
      ))}
    </svg>
  );
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
