import type { CallReply } from "@tendon/protocol";

export interface HomeState {
  readonly lights: Readonly<Record<string, boolean>>;
  readonly alarm: boolean;
  readonly people: readonly string[];
  readonly present: boolean;
  readonly climate:
    | { readonly temperature: number; readonly target: number; readonly heating: boolean }
    | undefined;
}

interface HomeResult {
  readonly lights?: Readonly<Record<string, boolean>>;
  readonly alarm?: boolean;
  readonly presence?: { readonly present?: boolean; readonly known_people?: readonly string[] };
  readonly climate?: HomeState["climate"];
}

/** Reads the result of `get_all_states`. Missing fields mean off, disarmed and empty. */
export function readHome(result: CallReply["result"]): HomeState {
  const state = (result.structuredContent ?? {}) as HomeResult;
  return {
    lights: state.lights ?? {},
    alarm: state.alarm === true,
    people: state.presence?.known_people ?? [],
    present: state.presence?.present === true,
    climate: state.climate,
  };
}
