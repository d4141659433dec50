import type { Writable } from "node:stream";
import { type Clock, systemClock } from "../clock.ts";
import { changesBetween } from "./changes.ts";
import { Conversation, eventLine, maxLineBytes } from "./conversation.ts";
import { watchFile } from "./file-watch.ts";
import { HomeStateError } from "./home-errors.ts";
import type { LineInput } from "./line-input.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { SimulatedHome } from "./simulated-home.ts";
import type { HomeState } from "./state.ts";

export interface HomeServerOptions {
  readonly home: SimulatedHome;
  readonly input: LineInput;
  readonly output: Writable;
  /** Also send `event` lines for changes by any process. Off: only the protocol's messages. */
  readonly events?: boolean;
  /** The file of the shared state, to notice changes by other processes. */
  readonly stateFile?: string | undefined;
  readonly warn?: (error: HomeStateError) => void;
  readonly clock?: Clock;
}

type HomeServerEnd = "quit" | "input-ended" | "output-gone" | "stopped";

export interface HomeServer {
  /** Settles when nothing more will be read or written. */
  readonly ended: Promise<HomeServerEnd>;
  stop(): void;
}

/** Serves one client over a pair of streams until it quits, disconnects, or stop() is called. */
export function serveHome(options: HomeServerOptions): HomeServer {
  const server = new LineServer(options);
  return { ended: server.ended, stop: () => server.end("stopped") };
}

/** A client that sends nothing for this long is idle. */
const idleMs = 1_000;

interface Unreadable {
  readonly why: "tooLong" | "notText";
}

class LineServer {
  readonly ended: Promise<HomeServerEnd>;
  readonly #home: SimulatedHome;
  readonly #input: LineInput;
  readonly #output: Writable;
  readonly #conversation: Conversation;
  readonly #splitter: LineSplitter;
  readonly #warn: (error: HomeStateError) => void;
  /** The state that was last reported to the client; `undefined` for a client without events. */
  #reported: HomeState | undefined;
  #unwatch = (): void => undefined;
  readonly #clock: Clock;
  /** Turns since the last check for idleness. */
  #turns = 0;
  #idleCheck: { cancel(): void } | undefined;
  #settle: (why: HomeServerEnd) => void = () => undefined;
  #over = false;
  #quit = false;
  /** The lines of one chunk and their answers. */
  readonly #lines: (string | Unreadable)[] = [];
  #answers = "";

  constructor(options: HomeServerOptions) {
    const { home, input, output, events = false, stateFile, clock = systemClock } = options;
    this.#home = home;
    this.#input = input;
    this.#output = output;
    this.#clock = clock;
    this.#warn = options.warn ?? (() => undefined);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#conversation = new Conversation(home, this.#warn);
    this.#splitter = new LineSplitter(maxLineBytes, {
      line: (text) => this.#lines.push(text),
      tooLong: () => this.#lines.push({ why: "tooLong" }),
      notText: () => this.#lines.push({ why: "notText" }),
    });
    output.on("error", () => this.end("output-gone"));
    output.on("close", () => this.end("output-gone"));
    output.on("drain", () => this.#drained());
    this.#send(this.#conversation.ready());
    if (events) {
      this.#reported = this.#current();
      if (stateFile !== undefined) this.#unwatch = watchFile(stateFile, () => this.#noticed(), clock);
    }
    input.start(
      (chunk) => this.#turn(() => this.#splitter.push(chunk)),
      () => {
        this.#turn(() => this.#splitter.end());
        this.end("input-ended");
      },
    );
  }

  end(why: HomeServerEnd): void {
    if (this.#over) return;
    this.#over = true;
    this.#unwatch();
    this.#idleCheck?.cancel();
    this.#input.close();
    this.#settle(why);
  }

  /** Answers all lines of a chunk together, and writes their changes together. */
  #turn(read: () => void): void {
    if (this.#over) return;
    read();
    const lines = this.#lines.splice(0);
    if (lines.length === 0) return;
    const reported = this.#reported;
    try {
      this.#home.together(() => this.#answerAll(lines, reported));
    } catch (error) {
      if (!(error instanceof HomeStateError)) throw error;
      // Nothing was written: run each call separately.
      this.#answerAll(lines, reported);
    }
    this.#flush();
    if (this.#quit) this.end("quit");
    else this.#tidyWhenIdle();
  }

  /** May run again for the same lines, if another process changed the state in between. */
  #answerAll(lines: readonly (string | Unreadable)[], reported: HomeState | undefined): void {
    this.#home.beginTurn();
    this.#answers = "";
    this.#reported = reported;
    this.#quit = false;
    for (const line of lines) {
      const answer =
        typeof line === "string" ? this.#conversation.answer(line) : this.#conversation[line.why]();
      if (answer === undefined) {
        this.#quit = true;
        return;
      }
      this.#answers += answer;
      // After each answer, so that switching on and off in one chunk gives two events.
      this.#tell(this.#home.lastState);
    }
  }

  /** One timer for all turns of a busy client. */
  #tidyWhenIdle(): void {
    this.#turns += 1;
    this.#idleCheck ??= this.#clock.after(idleMs, () => {
      this.#idleCheck = undefined;
      const busy = this.#turns > 1;
      this.#turns = 0;
      if (busy) this.#tidyWhenIdle();
      else this.#home.tidy();
    });
  }

  #flush(): void {
    const answers = this.#answers;
    this.#answers = "";
    if (answers !== "") this.#send(answers);
  }

  #send(text: string): void {
    if (this.#over) return;
    // ASCII is the same in both encodings, and latin1 is faster.
    const ascii = Buffer.byteLength(text) === text.length;
    const flows = this.#output.write(text, ascii ? "latin1" : "utf8");
    if (!flows) this.#input.pause();
  }

  #drained(): void {
    if (this.#over) return;
    this.#noticed();
    if (!this.#output.writableNeedDrain) this.#input.resume();
  }

  /** The state may have changed. A client that does not read gets the remaining difference later. */
  #noticed(): void {
    if (this.#over || this.#reported === undefined || this.#output.writableNeedDrain) return;
    const state = this.#current();
    if (state === undefined) return;
    this.#tell(state);
    this.#flush();
  }

  #tell(state: HomeState): void {
    if (this.#reported === undefined || this.#reported === state) return;
    for (const event of changesBetween(this.#reported, state)) this.#answers += eventLine(event);
    this.#reported = state;
  }

  #current(): HomeState | undefined {
    try {
      return this.#home.state;
    } catch (error) {
      if (!(error instanceof HomeStateError)) throw error;
      this.#warn(error);
      return undefined;
    }
  }
}
