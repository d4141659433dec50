import type { CallReply } from "@tendon/protocol";

export interface HomeState {
  readonly lights: Readonly<Record<string, boolean>>;
  readonly alarm: boolean;
  readonly people: readonly string[];
  readonly present: boolean;
  readonly climate:
    | { readonly temperature: number; readonly target: number; readonly heating: boolean }
    | undefined;
  /** States of the home's tools file, by name. */
  readonly own: Readonly<Record<string, boolean | number | string>>;
}

interface HomeResult {
  readonly lights?: Readonly<Record<string, boolean>>;
  readonly alarm?: boolean;
  readonly presence?: { readonly present?: boolean; readonly known_people?: readonly string[] };
  readonly climate?: HomeState["climate"];
}

/** Reads the result of `get_all_states`. Missing fields mean off, disarmed and empty. */
export function readHome(result: CallReply["result"]): HomeState {
  const { lights, alarm, presence, climate, ...others } = (result.structuredContent ?? {}) as HomeResult;
  return {
    lights: lights ?? {},
    alarm: alarm === true,
    people: presence?.known_people ?? [],
    present: presence?.present === true,
    climate,
    own: Object.fromEntries(
      Object.entries(others as HomeState["own"]).filter(([, value]) =>
        ["boolean", "number", "string"].includes(typeof value),
      ),
    ),
  };
}
