/**
 * One call in several rounds: the client is asked for something, and comes back with it under the same name and
 * arguments. In sessions the SDK asks in between and calls again by itself, so that both eras take this one way.
 */
import { randomUUID } from "node:crypto";
import {
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { cleanText, type InputRequired, isObject, type JsonObject } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import { type CallBinding, digestOf, type RequestStates, type Round } from "./request-state.ts";

const longestQuestion = 2_000;
const passedOn = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

export class Rounds {
  readonly #states: RequestStates;
  readonly #binding: CallBinding;
  readonly #context: ServerContext;
  readonly before: Round;

  constructor(states: RequestStates, binding: CallBinding, context: ServerContext) {
    this.#states = states;
    this.#binding = binding;
    this.#context = context;
    const state = context.mcpReq.requestState<(Round & { for: string }) | undefined>();
    if (state !== undefined && state.for !== digestOf(binding)) {
      const reason = "invalid_request_state";
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState", { reason });
    }
    this.before = state ?? {};
  }

  get answers(): JsonObject {
    return this.#context.mcpReq.inputResponses ?? {};
  }

  /** A device's own questions, as it asks them, but for what must not reach a person unlooked at. */
  deviceAsks({ inputRequests, requestState }: InputRequired): InputRequiredResult {
    const asked = Object.fromEntries(Object.entries(inputRequests).map(([key, one]) => [key, question(one)]));
    const confirmed = this.before.confirmed === true || this.before.question !== undefined;
    const round = {
      ...(confirmed ? { confirmed } : {}),
      ...(requestState === undefined ? {} : { deviceState: requestState }),
    };
    const state =
      confirmed || requestState !== undefined ? this.#states.seal(this.#binding, round) : undefined;
    return inputRequired({
      // Safe: each has been looked at.
      inputRequests: asked as unknown as NonNullable<InputRequiredResult["inputRequests"]>,
      ...(state === undefined ? {} : { requestState: state }),
    });
  }

  /** Our own question, for one answer only. */
  weAsk(key: string, form: Parameters<typeof inputRequired.elicit>[0]): InputRequiredResult {
    return inputRequired({
      inputRequests: { [key]: inputRequired.elicit(form) },
      requestState: this.#states.seal(this.#binding, { question: randomUUID() }),
    });
  }
}

function question(one: unknown): JsonObject {
  if (!isObject(one) || typeof one["method"] !== "string" || !passedOn.has(one["method"])) {
    throw new TendonError("device_error", "the device asks for something that is not passed on");
  }
  if (one["method"] !== "elicitation/create" || !isObject(one["params"])) return one;
  const { params } = one;
  // An address chosen by a device is not shown to a person as if it were ours.
  if (params["mode"] === "url") throw new TendonError("device_error", "the device asks by an address");
  return {
    ...one,
    params: { ...params, message: cleanText(String(params["message"] ?? ""), longestQuestion) },
  };
}
