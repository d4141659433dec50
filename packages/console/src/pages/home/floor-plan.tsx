import { type KeyboardEvent, useMemo } from "react";
import { useI18n } from "../../i18n/i18n.tsx";
import type { HomeState } from "./home-state.ts";
import { layOut, type Room } from "./room-layout.ts";
import { roomName } from "./room-names.ts";

const width = 640;
const height = 400;
const wall = 5;

export function FloorPlan(props: {
  readonly home: HomeState;
  readonly disabled: boolean;
  readonly onSwitch: (name: string, on: boolean) => void;
}) {
  const { home, disabled, onSwitch } = props;
  const { t } = useI18n();
  const names = Object.keys(home.lights).join("\0");
  const rooms = useMemo(
    () =>
      layOut(
        names.split("\0").filter((name) => name !== ""),
        width,
        height,
      ),
    [names],
  );
  return (
    <svg viewBox={`0 0 ${width} ${height}`} className="h-auto w-full">
      <title>{t("home.plan")}</title>
      <clipPath id="outline">
        <rect x={wall / 2} y={wall / 2} width={width - wall} height={height - wall} rx="14" />
      </clipPath>
      <g clipPath="url(#outline)">
        {rooms.map((room, at) => (
          <RoomShape
            key={room.name}
            room={room}
            on={home.lights[room.name] === true}
            people={at === 0 ? home.people : []}
            disabled={disabled}
            onSwitch={onSwitch}
          />
        ))}
      </g>
      <rect
        x={wall / 2}
        y={wall / 2}
        width={width - wall}
        height={height - wall}
        rx="14"
        fill="none"
        strokeWidth={wall}
        className={home.alarm ? "stroke-bad" : "stroke-line-strong"}
        strokeDasharray={home.alarm ? "12 8" : undefined}
      />
    </svg>
  );
}

function RoomShape(props: {
  readonly room: Room;
  readonly on: boolean;
  readonly people: readonly string[];
  readonly disabled: boolean;
  readonly onSwitch: (name: string, on: boolean) => void;
}) {
  const { room, on, people, disabled, onSwitch } = props;
  const { t } = useI18n();
  const { name, x, y, w, h } = room;
  const shown = roomName(t, name);
  const flip = () => !disabled && onSwitch(name, !on);
  const press = (event: KeyboardEvent) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    flip();
  };
  return (
    <g
      role="switch"
      aria-checked={on}
      aria-label={t("home.light", { name: shown })}
      aria-disabled={disabled}
      tabIndex={0}
      onClick={flip}
      onKeyDown={press}
      className="group cursor-pointer outline-none"
    >
      <rect
        x={x}
        y={y}
        width={w}
        height={h}
        strokeWidth="2"
        className={`transition-colors duration-200 stroke-line-strong group-focus-visible:stroke-accent group-focus-visible:[stroke-width:5] ${on ? "fill-lamp" : "fill-surface group-hover:fill-raised"}`}
      />
      <g className={on ? "fill-[#4a3500]" : "fill-text"}>
        {/* On narrow screens the plan is drawn at half size, but its text is not. */}
        <text x={x + 18} y={y + 34} className="text-lg max-md:text-[22px]">
          <tspan className="font-semibold capitalize">{shown}</tspan>
          <tspan x={x + 18} dy="1.5em" className={`text-sm max-md:text-[19px] ${on ? "" : "fill-soft"}`}>
            {t(on ? "home.on" : "home.off")}
          </tspan>
        </text>
      </g>
      <Lamp x={x + w - 36} y={y + 36} on={on} />
      {people.slice(0, 6).map((person, at) => (
        <g key={person} transform={`translate(${x + 34 + at * 40}, ${y + h - 34})`}>
          <title>{person}</title>
          <circle r="16" className="fill-accent" />
          <text textAnchor="middle" y="5" className="fill-on-accent text-sm font-semibold max-md:text-[16px]">
            {initials(person)}
          </text>
        </g>
      ))}
    </g>
  );
}

function Lamp({ x, y, on }: { readonly x: number; readonly y: number; readonly on: boolean }) {
  return (
    <g
      transform={`translate(${x}, ${y})`}
      fill="none"
      strokeWidth="1.8"
      strokeLinecap="round"
      className={on ? "stroke-[#4a3500]" : "stroke-soft"}
    >
      <path d="M-4.5 6.500C-7 4-8 2-8-1a8 8 0 0 1 16 0c0 3-1 5-3.5 7.500zM-3.5 10h7M-2 13h4" />
      {on && <path d="M0-16v-3M12-12l2-2M-12-12l-2-2M16 0h3M-16 0h-3" />}
    </g>
  );
}

function initials(name: string): string {
  return name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? "")
    .join("");
}
