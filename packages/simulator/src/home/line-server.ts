import type { Writable } from "node:stream";
import { type Clock, systemClock } from "../clock.ts";
import { changesBetween } from "./changes.ts";
import { Conversation, eventLine, longestLine } from "./conversation.ts";
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
  /** Also send `event` lines when something changes, whoever changed it. Off: nothing but the protocol's messages. */
  readonly events?: boolean;
  /** The shared state's file, to notice what other processes do. */
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

/** Serves one client over a pair of streams until it quits, goes away, or stop() is called. */
export function serveHome(options: HomeServerOptions): HomeServer {
  const server = new LineServer(options);
  return { ended: server.ended, stop: () => server.end("stopped") };
}

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
  /** The state the client has been told of; `undefined` for a client that wants no events. */
  #told: HomeState | undefined;
  #unwatch = (): void => undefined;
  #settle: (why: HomeServerEnd) => void = () => undefined;
  #over = false;
  #quit = false;
  /** What one turn has brought, and the answers to it. */
  readonly #lines: (string | Unreadable)[] = [];
  #answers = "";

  constructor(options: HomeServerOptions) {
    const { home, input, output, events = false, stateFile, clock = systemClock } = options;
    this.#home = home;
    this.#input = input;
    this.#output = output;
    this.#warn = options.warn ?? (() => undefined);
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#conversation = new Conversation(home, this.#warn);
    this.#splitter = new LineSplitter(longestLine, {
      line: (text) => this.#lines.push(text),
      tooLong: () => this.#lines.push({ why: "tooLong" }),
      notText: () => this.#lines.push({ why: "notText" }),
    });
    output.on("error", () => this.end("output-gone"));
    output.on("close", () => this.end("output-gone"));
    output.on("drain", () => this.#drained());
    this.#send(this.#conversation.ready());
    if (events) {
      this.#told = this.#current();
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
    this.#input.close();
    this.#settle(why);
  }

  /** Everything that came in one piece is answered in one piece, and what it changes is kept in one go. */
  #turn(read: () => void): void {
    if (this.#over) return;
    read();
    const lines = this.#lines.splice(0);
    if (lines.length === 0) return;
    const told = this.#told;
    this.#home.beginTurn();
    try {
      this.#home.together(() => this.#answerAll(lines));
    } catch (error) {
      if (!(error instanceof HomeStateError)) throw error;
      // None of it has happened. Each call by itself finds out whether it can be done.
      this.#answers = "";
      this.#told = told;
      this.#quit = false;
      this.#answerAll(lines);
    }
    this.#flush();
    if (this.#quit) this.end("quit");
  }

  #answerAll(lines: readonly (string | Unreadable)[]): void {
    for (const line of lines) {
      const answer =
        typeof line === "string" ? this.#conversation.answer(line) : this.#conversation[line.why]();
      if (answer === undefined) {
        this.#quit = true;
        return;
      }
      this.#answers += answer;
      // After each answer, so that on and off again in one turn are two events.
      this.#tell(this.#home.lastState);
    }
  }

  #flush(): void {
    const answers = this.#answers;
    this.#answers = "";
    if (answers !== "") this.#send(answers);
  }

  #send(text: string): void {
    if (this.#over) return;
    // ASCII is the same in both, and as latin1 it is written quicker.
    const ascii = Buffer.byteLength(text) === text.length;
    const flows = this.#output.write(text, ascii ? "latin1" : "utf8");
    if (!flows) this.#input.pause();
  }

  #drained(): void {
    if (this.#over) return;
    this.#noticed();
    if (!this.#output.writableNeedDrain) this.#input.resume();
  }

  /** Somebody may have changed something. A client that does not read is told later, of the difference that is left. */
  #noticed(): void {
    if (this.#over || this.#told === undefined || this.#output.writableNeedDrain) return;
    const state = this.#current();
    if (state === undefined) return;
    this.#tell(state);
    this.#flush();
  }

  #tell(state: HomeState): void {
    if (this.#told === undefined || this.#told === state) return;
    for (const event of changesBetween(this.#told, state)) this.#answers += eventLine(event);
    this.#told = state;
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
