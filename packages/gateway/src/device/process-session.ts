/** One run of one process as a device [PRC-1…8]: its messages are lines on its pipes. */
import type { Readable, Writable } from "node:stream";
import { limits } from "@tendon/protocol";
import { LineReader } from "./line-reader.ts";
import { type Dialect, ProgramSession, type ProgramSessionDependencies } from "./program-session.ts";

/** The protocol of a process. */
export interface ProcessDialect extends Dialect {
  receive(line: string): void;
  requestExit(): void;
}

export interface ProcessSessionDependencies extends Omit<ProgramSessionDependencies, "flow"> {
  readonly stdin: Writable;
  readonly stdout: Pick<Readable, "pause" | "resume">;
  /** Kills the process. The supervisor reports its end. */
  readonly kill: (why: string) => void;
  readonly createDialect: (session: ProcessSession) => ProcessDialect;
}

export class ProcessSession extends ProgramSession {
  readonly kind = "process";
  readonly transport = "stdio";
  protected readonly sendFailure = "the process stopped reading its input";
  protected readonly dialect: ProcessDialect;
  readonly #dependencies: ProcessSessionDependencies;
  readonly #reader: LineReader;

  constructor(dependencies: ProcessSessionDependencies) {
    super({ ...dependencies, flow: dependencies.stdout });
    this.#dependencies = dependencies;
    this.#reader = new LineReader(
      limits.processLineBytes.max,
      (line) => this.received(line, () => this.dialect.receive(line)),
      () => this.notUnderstood("invalid", "a line is too long"),
    );
    this.dialect = dependencies.createDialect(this);
  }

  /** Output of the process. */
  receive(chunk: Buffer): void {
    if (!this.isClosed && this.intake.count(0, chunk.byteLength)) this.#reader.push(chunk);
  }

  /** One or more whole lines. */
  write(text: string): boolean {
    const { stdin } = this.#dependencies;
    if (this.isClosed || !stdin.writable || stdin.writableLength > limits.deviceSendBufferBytes.max)
      return false;
    stdin.write(text);
    this.record("out", text.trimEnd());
    return true;
  }

  /** Closes the process's input. */
  endInput(): void {
    this.#dependencies.stdin.end();
  }

  requestExit(): void {
    this.dialect.requestExit();
  }

  close(_closeCode: number, reason: string, deviceLeft = true): void {
    this.ended(reason, deviceLeft);
    this.#dependencies.kill(reason);
  }

  protected floodReason(exceeded: "frames" | "bytes"): string {
    return `the process writes too many ${exceeded === "frames" ? "lines" : "bytes"}`;
  }
}
