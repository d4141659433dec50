import { UsageError } from "../errors.ts";
import { type HomeServer, type HomeStateError, serveHome, standardInput } from "./home-door.ts";
import { type HomeOptions, withHome } from "./home-open.ts";

interface ServeOptions extends HomeOptions {
  readonly events?: boolean;
}

/** How long a client that does not read may hold up a process that was told to go. */
const graceMs = 500;

/** stdout carries the protocol and nothing else; whatever else is to be said goes to stderr. */
export async function serveHomeLines(mode: string | true, options: ServeOptions): Promise<void> {
  if (mode !== true && mode !== "stdio") throw new UsageError(`--mcp knows only \`stdio\`, got \`${mode}\``);
  let server: HomeServer | undefined;
  const stop = (): void => {
    server?.stop();
    // Unreferenced: it only matters to a process that something still holds.
    setTimeout(() => process.exit(0), graceMs).unref();
  };
  // Before `ready` is said: whoever has heard it may end the process at once.
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  await withHome(options, async ({ home, stateFile, texts }) => {
    server = serveHome({
      home,
      stateFile,
      input: standardInput(),
      output: process.stdout,
      events: options.events ?? false,
      warn: once((error) => process.stderr.write(`tendon: ${texts.stateProblem(error)}\n`)),
    });
    await server.ended;
  });
}

/** A fault that lasts is told when it begins, not with every call. */
function once(tell: (error: HomeStateError) => void): (error: HomeStateError) => void {
  let last = "";
  return (error) => {
    if (error.message !== last) tell(error);
    last = error.message;
  };
}
