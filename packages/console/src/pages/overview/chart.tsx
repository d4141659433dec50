import { useEffect, useRef, useState } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type I18n, useI18n } from "../../i18n/i18n.tsx";
import { Panel } from "../../ui/states.tsx";

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly colour: "accent" | "bad" | "warn";
  readonly fill?: boolean;
  readonly step?: boolean;
}

const height = 180;

/** The theme's current colours, because a canvas cannot use CSS variables. */
function colourOf(root: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  root.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function useThemeCount(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const changed = () => setCount((before) => before + 1);
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      system.removeEventListener("change", changed);
    };
  }, []);
  return count;
}

/** Distances between labels: 1, 2, 5, 10 … */
const wholeSteps = Array.from({ length: 8 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

const minute = 60;

/** Formats times, with seconds where the labels are less than a minute apart. */
function timeLabels(i18n: I18n, at: readonly number[]): string[] {
  const apart = (at[1] ?? 0) - (at[0] ?? 0);
  return at.map((second) => i18n.axisTime(new Date(second * 1000), apart < minute));
}

/** The width of the longest time label, with some space around it, so that labels do not touch. */
const labelWidth = 92;

/** So few points are drawn as points. */
const fewPoints = 12;

function isFew(values: Iterable<number | null | undefined>): boolean {
  let known = 0;
  for (const value of values) {
    if (value !== null && value !== undefined) known += 1;
    if (known > fewPoints) return false;
  }
  return true;
}

/** A line suggests values between its points. Between few points with gaps, it would only invent them. */
function pathsFor(step: boolean): UPlot.Series.PathBuilder | undefined {
  const draw = step ? UPlot.paths.stepped?.({ align: 1 }) : UPlot.paths.linear?.();
  if (draw === undefined || step) return draw;
  return (plot, series, from, to) => {
    const values = [...(plot.data[series] ?? [])];
    return isFew(values) && values.includes(null) ? null : draw(plot, series, from, to);
  };
}

function pathOption(step: boolean): { paths?: UPlot.Series.PathBuilder } {
  const paths = pathsFor(step);
  return paths === undefined ? {} : { paths };
}

export function Chart(props: {
  readonly title: string;
  readonly unit: string;
  readonly x: readonly number[];
  readonly lines: readonly Line[];
  /** Whether the values are counts, which have no fractions. */
  readonly whole?: boolean;
}) {
  const { title, unit, x, lines, whole = false } = props;
  const i18n = useI18n();
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(undefined);
  const theme = useThemeCount();
  const shape = JSON.stringify(lines.map(({ name, colour }) => [name, colour]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: recreated when its appearance changes; the effect below updates its data
  useEffect(() => {
    const root = place.current;
    if (root === null) return;
    const number = new Intl.NumberFormat(i18n.code, { maximumFractionDigits: 2 });
    const text = (value: number) => (unit === "ms" ? i18n.duration(value) : `${number.format(value)}${unit}`);
    const format = (value: number | null | undefined) =>
      value === null || value === undefined ? "—" : text(value);
    const axis = {
      stroke: colourOf(root, "soft"),
      font: "11px system-ui",
      grid: { stroke: colourOf(root, "line"), width: 1 },
      ticks: { show: false },
    };
    const made = new UPlot(
      {
        width: root.clientWidth,
        height,
        padding: [12, 40, 0, 0],
        cursor: { points: { size: 6 } },
        legend: { live: true },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 30,
            space: labelWidth,
            values: (_plot, at) => timeLabels(i18n, at),
          },
          {
            ...axis,
            size: (_plot, labels) => Math.max(40, ...(labels ?? []).map((label) => 14 + 6.5 * label.length)),
            ...(whole ? { incrs: wholeSteps } : {}),
            values: (_plot, at) => at.map(text),
          },
        ],
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(1e-9, (high ?? 0) * 1.15 || 1)] } },
        series: [
          {
            label: i18n.t("overview.time"),
            value: (_plot, second) => (second === null ? "—" : i18n.clock(new Date(second * 1000))),
          },
          ...lines.map(({ name, colour, fill, step }) => ({
            label: name,
            stroke: colourOf(root, colour),
            width: 1.75,
            spanGaps: true,
            points: {
              show: (plot: UPlot, series: number) => step !== true && isFew(plot.data[series] ?? []),
              size: 6,
              fill: colourOf(root, colour),
            },
            value: (_plot: UPlot, value: number | null) => format(value),
            ...(fill === true ? { fill: colourOf(root, `${colour}-soft`) } : {}),
            ...pathOption(step === true),
          })),
        ],
      },
      [[...x], ...lines.map(({ values }) => [...values])] as UPlot.AlignedData,
      root,
    );
    chart.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: root.clientWidth, height }));
    resize.observe(root);
    return () => {
      resize.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [theme, shape, unit, i18n.code]);
  useEffect(() => {
    chart.current?.setData([[...x], ...lines.map(({ values }) => [...values])] as UPlot.AlignedData);
  }, [x, lines]);
  const last = lines
    .map(({ name, values }) => `${name} ${values.findLast((value) => value !== null) ?? "—"} ${unit}`.trim())
    .join(", ");
  return (
    <Panel title={title}>
      <figure aria-label={`${title}: ${last}`} className="px-2 pb-3">
        <div ref={place} className="chart" />
      </figure>
    </Panel>
  );
}
