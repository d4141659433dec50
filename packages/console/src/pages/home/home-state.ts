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

interface Told {
  readonly lights?: Readonly<Record<string, boolean>>;
  readonly alarm?: boolean;
  readonly presence?: { readonly present?: boolean; readonly known_people?: readonly string[] };
  readonly climate?: HomeState["climate"];
}

/** What `get_all_states` answered; whatever is missing is off, unarmed, nobody. */
export function readHome(result: CallReply["result"]): HomeState {
  const told = (result.structuredContent ?? {}) as Told;
  return {
    lights: told.lights ?? {},
    alarm: told.alarm === true,
    people: told.presence?.known_people ?? [],
    present: told.presence?.present === true,
    climate: told.climate,
  };
}
