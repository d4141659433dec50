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
import { type InputRequired, isObject, type JsonObject } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import { confirmKey, decisionIn } from "./confirmation.ts";
import { cleanForm, isAddress, type Question } from "./questions.ts";
import { type CallBinding, digestOf, type RequestStates, type Round } from "./request-state.ts";

const passedOn = new Set(["elicitation/create", "sampling/createMessage", "roots/list"]);

export class Rounds {
  readonly #states: RequestStates;
  readonly #binding: CallBinding;
  readonly #context: ServerContext;
  readonly before: Round;
  /** What a person said yes to, where this round is carried by that. */
  #confirmed: string | undefined;

  constructor(states: RequestStates, binding: CallBinding, context: ServerContext) {
    this.#states = states;
    this.#binding = binding;
    this.#context = context;
    const state = context.mcpReq.requestState<(Round & { for: string }) | undefined>();
    if (state !== undefined && state.for !== digestOf(binding)) throw invalidState();
    this.before = state ?? {};
  }

  /** What the client brought for the device. */
  get answers(): JsonObject {
    const { [confirmKey]: _ours, ...answers } = this.#context.mcpReq.inputResponses ?? {};
    return answers;
  }

  /**
   * [SRV-12] A person's word, if this round brings one: a yes is good for one call with exactly these arguments and
   * targets, of the tool as it was, and nothing else that an agent could send stands for it.
   */
  async decision(asked: string): Promise<ReturnType<typeof decisionIn>> {
    const { ticket, word, confirmed } = this.before;
    if (ticket === undefined || word !== asked) return undefined;
    const said = confirmed === true ? "accept" : decisionIn(this.#context.mcpReq.inputResponses ?? {});
    if (said === undefined || !(await this.#states.useTicket(ticket))) return undefined;
    this.#confirmed = said === "accept" ? word : undefined;
    return said;
  }

  /** A device's own questions, as it asks them, but for what must not reach a person unlooked at. */
  deviceAsks({ inputRequests, requestState }: InputRequired): InputRequiredResult {
    const asked = Object.fromEntries(Object.entries(inputRequests).map(([key, one]) => [key, question(one)]));
    const round = {
      ...(this.#confirmed === undefined
        ? {}
        : { confirmed: true, ticket: randomUUID(), word: this.#confirmed }),
      ...(requestState === undefined ? {} : { deviceState: requestState }),
    };
    return inputRequired({
      // Safe: each has been looked at.
      inputRequests: asked as unknown as NonNullable<InputRequiredResult["inputRequests"]>,
      ...(Object.keys(round).length === 0 ? {} : { requestState: this.#states.seal(this.#binding, round) }),
    });
  }

  /** The questions of a call that stays open until the client comes back. */
  callAsks(questions: Record<string, Question>, openCall: string): InputRequiredResult {
    return inputRequired({
      // Safe: each has been looked at.
      inputRequests: questions as NonNullable<InputRequiredResult["inputRequests"]>,
      requestState: this.#states.seal(this.#binding, { openCall }),
    });
  }

  /** Our own question to a person. */
  askPerson(form: Parameters<typeof inputRequired.elicit>[0], word: string): InputRequiredResult {
    return inputRequired({
      inputRequests: { [confirmKey]: inputRequired.elicit(form) },
      requestState: this.#states.seal(this.#binding, { ticket: randomUUID(), word }),
    });
  }
}

/** What the client brings back belongs to no call, to another one, or to one that is over. */
export function invalidState(why?: string): ProtocolError {
  const said = "Invalid or expired requestState";
  const reason = "invalid_request_state";
  const detail = why === undefined ? said : `${said}: ${why}`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, detail, { reason });
}

function question(one: unknown): JsonObject {
  if (!isObject(one) || typeof one["method"] !== "string" || !passedOn.has(one["method"])) {
    throw new TendonError("device_error", "the device asks for something that is not passed on");
  }
  if (one["method"] !== "elicitation/create" || !isObject(one["params"])) return one;
  if (isAddress(one["params"])) throw new TendonError("device_error", "the device asks by an address");
  return { ...one, params: cleanForm(one["params"]) };
}
