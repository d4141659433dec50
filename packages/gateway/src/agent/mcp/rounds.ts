/**
 * One call in several rounds: the gateway asks the client for input, and the client repeats the call with it. In sessions
 * the SDK sends the questions and repeats the call, so that both eras use the same code.
 */
import { randomUUID } from "node:crypto";
import {
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type InputRequired, isObject, type JsonObject, limits } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";
import { confirmKey, decisionIn } from "./confirmation.ts";
import { type Question, shown } from "./questions.ts";
import { type CallBinding, digestOf, type RequestStates, type Round } from "./request-state.ts";

export class Rounds {
  readonly #states: RequestStates;
  readonly #binding: CallBinding;
  readonly #context: ServerContext;
  readonly before: Round;
  /** The binding that a person has approved, if this round runs under an approval. */
  #confirmed: string | undefined;

  constructor(states: RequestStates, binding: CallBinding, context: ServerContext) {
    this.#states = states;
    this.#binding = binding;
    this.#context = context;
    const state = context.mcpReq.requestState<(Round & { for: string }) | undefined>();
    if (state !== undefined && state.for !== digestOf(binding)) throw invalidState();
    this.before = state ?? {};
  }

  /** The client's answers for the device. */
  get answers(): JsonObject {
    const { [confirmKey]: _ours, ...answers } = this.#context.mcpReq.inputResponses ?? {};
    return answers;
  }

  /**
   * [SRV-12] The person's decision, if this round brings one. An approval is valid for one call with exactly these
   * arguments and targets, of the tool as it was. An agent cannot forge it.
   */
  async decision(asked: string): Promise<ReturnType<typeof decisionIn>> {
    const { ticket, word, confirmed } = this.before;
    if (ticket === undefined || word !== asked) return undefined;
    const decision = confirmed === true ? "accept" : decisionIn(this.#context.mcpReq.inputResponses ?? {});
    if (decision === undefined || !(await this.#states.useTicket(ticket))) return undefined;
    this.#confirmed = decision === "accept" ? word : undefined;
    return decision;
  }

  /** The device's questions for the client, checked and cleaned. */
  deviceAsks({ inputRequests, requestState }: InputRequired): InputRequiredResult {
    const asked = checkedQuestions(inputRequests);
    const round = {
      ...(this.#confirmed === undefined
        ? {}
        : { confirmed: true, ticket: randomUUID(), word: this.#confirmed }),
      ...(requestState === undefined ? {} : { deviceState: requestState }),
    };
    return inputRequired({
      // Safe: each has been checked.
      inputRequests: asked as NonNullable<InputRequiredResult["inputRequests"]>,
      ...(Object.keys(round).length === 0 ? {} : { requestState: this.#states.seal(this.#binding, round) }),
    });
  }

  /** The questions of a call that stays open until the client's next round. */
  callAsks(questions: Record<string, Question>, openCall: string): InputRequiredResult {
    return inputRequired({
      // Safe: each has been checked.
      inputRequests: questions as NonNullable<InputRequiredResult["inputRequests"]>,
      requestState: this.#states.seal(this.#binding, { openCall }),
    });
  }

  /** The gateway's own question to a person. */
  askPerson(form: Parameters<typeof inputRequired.elicit>[0], binding: string): InputRequiredResult {
    return inputRequired({
      inputRequests: { [confirmKey]: inputRequired.elicit(form) },
      requestState: this.#states.seal(this.#binding, { ticket: randomUUID(), word: binding }),
    });
  }
}

/** The client's state belongs to no call, to another one, or to one that has ended. */
export function invalidState(why?: string): ProtocolError {
  const summary = "Invalid or expired requestState";
  const reason = "invalid_request_state";
  const detail = why === undefined ? summary : `${summary}: ${why}`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, detail, { reason });
}

/** The questions of a round, each checked and as a client gets it. */
function checkedQuestions(inputRequests: JsonObject): Record<string, Question> {
  const asked = Object.entries(inputRequests);
  const most = limits.programQuestionsOpen.max;
  if (asked.length > most) throw notPassedOn(`a round may have ${most} questions at most`);
  const bytes = JSON.stringify(inputRequests).length;
  if (bytes > limits.programQuestionBytes.max)
    throw notPassedOn(`the questions of a round may have ${limits.programQuestionBytes.max} bytes at most`);
  return Object.fromEntries(asked.map(([key, one]) => [key, question(one)]));
}

function question(one: unknown): Question {
  const { method, params } = isObject(one) ? one : {};
  try {
    return shown({ method: String(method), params: isObject(params) ? params : {} });
  } catch (error) {
    throw error instanceof ProtocolError ? notPassedOn(error.message) : error;
  }
}

function notPassedOn(why: string): TendonError {
  return new TendonError("device_error", `the device's question is not passed on: ${why}`);
}
