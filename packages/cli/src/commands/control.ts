import type { ControlResponse } from "@tendon/protocol";
import { readDuration } from "../duration.ts";
import { OperationError } from "../errors.ts";
import { readLoosely, splitPairs } from "../fields.ts";
import { GatewayClient } from "../gateway-client.ts";
import { plainLines, print, printJson } from "../output.ts";
import { printQueued, type QueueFlags, readQueueFlags, withQueueHint } from "../queueing.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface ControlOptions extends TargetOptions, QueueFlags {
  readonly timeout?: string;
  readonly json?: boolean;
}

export async function control(
  device: string,
  action: string,
  pairs: string[],
  options: ControlOptions,
): Promise<void> {
  const queue = readQueueFlags(options);
  const client = new GatewayClient(readTarget(options));
  const fields = Object.fromEntries(splitPairs(pairs).map(([key, text]) => [key, readLoosely(text)]));
  const message = {
    ...fields,
    type: "device_control",
    action,
    ...(options.timeout === undefined ? {} : { timeoutMs: readDuration(options.timeout) }),
    ...queue,
  };
  const answer = await client
    .post<ControlResponse>(`/devices/${encodeURIComponent(device)}/control`, message)
    .catch((error: unknown) => {
      throw withQueueHint(error);
    });
  const { callId, expiresAt } = answer;
  if (options.json === true) printJson(answer);
  else if (callId !== undefined && expiresAt !== undefined) printQueued({ callId, expiresAt });
  else print(textOf(answer));
  if (!answer.ok) throw new OperationError(`${answer.code}: ${answer.detail}`, answer);
}

function textOf({ result }: ControlResponse): string {
  const { content = [] } = (result ?? {}) as { content?: { text?: unknown }[] };
  const texts = content
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .filter((text) => text !== "");
  return texts.length === 0 ? "done" : plainLines(texts.join("\n"));
}
