import { type Clock, systemClock } from "../clock.ts";
import { HomeCallError } from "./home-errors.ts";
import { readArguments } from "./parameters.ts";
import { defaultSettings, type HomeSettings } from "./settings.ts";
import { type HomeState, setPeople } from "./state.ts";
import { type HomeStore, MemoryStore } from "./store.ts";
import type { HomeTool, HomeToolDefinition } from "./tool.ts";
import { brief, peopleParameter, toolsOf } from "./tools.ts";

export interface SimulatedHomeOptions {
  readonly settings?: HomeSettings;
  /** Where the state lives; in memory by default. */
  readonly store?: HomeStore;
  readonly clock?: Pick<Clock, "now">;
}

const done = { ok: true } as const;

/** The home itself: settings, state and what can be done with them, whoever asks. */
export class SimulatedHome {
  readonly settings: HomeSettings;
  readonly #store: HomeStore;
  readonly #clock: Pick<Clock, "now">;
  readonly #tools: ReadonlyMap<string, HomeTool>;
  #looked = false;

  constructor(options: SimulatedHomeOptions = {}) {
    this.settings = options.settings ?? defaultSettings;
    this.#store = options.store ?? new MemoryStore(this.settings);
    this.#clock = options.clock ?? systemClock;
    this.#tools = toolsOf(this.settings);
  }

  get tools(): readonly HomeToolDefinition[] {
    return [...this.#tools.values()].map(({ definition }) => definition);
  }

  /** As of now, with every change that other processes have finished. */
  get state(): HomeState {
    return this.#store.read();
  }

  /** As of the last look or change that was made here. */
  get lastState(): HomeState {
    return this.#store.last();
  }

  /** A HomeCallError says why a call is refused, a HomeStateError why the state could not be read or kept. */
  call(name: string, args: Readonly<Record<string, unknown>> = {}): object {
    this.beginTurn();
    return this.callInTurn(name, args);
  }

  /** Calls that arrived together were all sent before now: one look at what others changed serves them all. */
  beginTurn(): void {
    this.#looked = false;
  }

  /** Changes made inside are kept together; see HomeStore. */
  together(work: () => void): void {
    this.#store.together(work);
  }

  callInTurn(name: string, args: Readonly<Record<string, unknown>>): object {
    const tool = this.#tools.get(name);
    if (tool === undefined) {
      throw new HomeCallError("tool_unknown", `Tool '${brief(name)}' no encontrada`, {
        name,
        known: [...this.#tools.keys()],
      });
    }
    const context = { settings: this.settings, now: this.#clock.now() };
    if (tool.does === "read") {
      const state = this.#looked ? this.#store.last() : this.#store.read();
      this.#looked = true;
      return tool.run(state, context, args);
    }
    this.#store.change((state) => tool.run(state, context, args));
    return done;
  }

  /** By hand, where the tool for it may not be switched on: who is at home, made of who was. */
  changePeople(change: (people: readonly string[]) => readonly string[]): HomeState {
    const now = this.#clock.now();
    const record = this.settings.features.has("presence");
    return this.#store.change((state) => {
      const { people } = readArguments(peopleParameter, ["people"], {
        people: [...new Set(change(state.presence.known_people))],
      });
      return setPeople(state, people, { now, record });
    });
  }

  close(): void {
    this.#store.close();
  }
}
