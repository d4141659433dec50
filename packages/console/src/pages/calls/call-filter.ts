/** The filters of the call list, which are kept in the address: a filtered list can be bookmarked and sent. */
import { useDeferredValue, useMemo } from "react";
import { useSearchParams } from "wouter";
import type { CallFilter } from "../../api/queries.ts";

const hour = 3_600_000;
const spans = { hour, day: 24 * hour, week: 168 * hour } as const;
export const spanNames = ["all", "hour", "day", "week"] as const;

export const textFields = ["device", "tool", "principal"] as const;
type Field = (typeof textFields)[number] | "outcome" | "span" | "automatic";

export interface CallFilters {
  readonly values: Readonly<Record<Field, string>>;
  /** For the request to the gateway. */
  readonly filter: CallFilter;
  /** Whether any filter is set. */
  readonly active: boolean;
  readonly change: (field: Field, value: string) => void;
  readonly clear: () => void;
}

export function useCallFilters(): CallFilters {
  const [params, setParams] = useSearchParams();
  const read = (field: Field) => params.get(field) ?? "";
  const values = {
    device: read("device"),
    tool: read("tool"),
    principal: read("principal"),
    outcome: read("outcome"),
    span: read("span"),
    automatic: read("automatic"),
  };
  const text = useDeferredValue(JSON.stringify(values));
  const filter = useMemo((): CallFilter => {
    const { device, tool, principal, outcome, span, automatic } = JSON.parse(text) as typeof values;
    return {
      device: given(device),
      tool: given(tool),
      principal: given(principal),
      outcome: given(outcome),
      since: isSpan(span) ? new Date(Date.now() - spans[span]).toISOString() : undefined,
      automatic: automatic === "true",
    };
  }, [text]);
  const change = (field: Field, value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === "") next.delete(field);
        else next.set(field, value);
        return next;
      },
      { replace: true },
    );
  const active = Object.values(values).some((value) => value !== "");
  return { values, filter, active, change, clear: () => setParams({}, { replace: true }) };
}

function isSpan(text: string): text is keyof typeof spans {
  return Object.hasOwn(spans, text);
}

function given(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === "" ? undefined : trimmed;
}
