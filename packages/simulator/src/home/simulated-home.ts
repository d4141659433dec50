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
  /** Storage of the state; in memory by default. */
  readonly store?: HomeStore;
  readonly clock?: Pick<Clock, "now">;
}

const done = { ok: true } as const;

/** The home: settings, state and tools. */
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

  /** The current state, with all finished changes of other processes. */
  get state(): HomeState {
    return this.#store.read();
  }

  /** The state of the last read or change in this process. */
  get lastState(): HomeState {
    return this.#store.last();
  }

  /** Throws a HomeCallError for a rejected call, and a HomeStateError if the state cannot be read or written. */
  call(name: string, args: Readonly<Record<string, unknown>> = {}): object {
    this.beginTurn();
    return this.callInTurn(name, args);
  }

  /** For calls that arrived together, the shared state is read once. */
  beginTurn(): void {
    this.#looked = false;
  }

  /** Writes the changes made inside together; see HomeStore. */
  together(work: () => void): void {
    this.#store.together(work);
  }

  tidy(): void {
    this.#store.tidy();
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

  /** Changes who is home, even if the tool for it is not enabled. */
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
