/** What a person is asked before a call that a rule wants confirmed: who wants what, where, with which arguments. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { cleanLine, isObject, type JsonObject } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";

export interface Confirmation {
  /** The device, or how many of them. */
  readonly device: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly reason: string;
  /** Stands for exactly this call. */
  readonly binding: string;
}

/** The key of our question among those of a round. */
export const confirmKey = "tendon_confirm";
const longestArguments = 1_500;

/** Leaves a call that has to wait for a person's word; whoever catches it asks. */
export class AskPerson extends TendonError {
  readonly confirmation: Confirmation;

  constructor(confirmation: Confirmation) {
    super("approval_required", "the person in front of the agent is asked");
    this.confirmation = confirmation;
  }
}

/** The same for a call to many: it must not be taken for the refusal of one of them. */
export class AskPersonForMany extends Error {
  override readonly name = "AskPersonForMany";
  readonly confirmation: Confirmation;

  constructor(confirmation: Confirmation) {
    super("the person in front of the agent is asked");
    this.confirmation = confirmation;
  }
}

/** Whether all of it can be shown: nobody says yes to what was left out. */
export function canBeShown({ arguments: args }: Confirmation): boolean {
  return JSON.stringify(args).length <= longestArguments;
}

export function formFor(principal: string, device: string, asked: Confirmation): ElicitRequestFormParams {
  const lines = [
    `The agent "${cleanLine(principal, 64)}" wants to call ${asked.tool} on ${device}.`,
    `Arguments: ${cleanLine(JSON.stringify(asked.arguments), longestArguments * 2)}`,
    `Why you are asked: ${cleanLine(asked.reason, 200)}`,
  ];
  return {
    mode: "form",
    message: lines.join("\n"),
    requestedSchema: {
      type: "object",
      properties: {
        allow: {
          type: "boolean",
          title: `Allow ${asked.tool} on ${device}`,
          description: "Ticked, the call is carried out once, now; left empty, it is not made.",
        },
      },
      required: ["allow"],
    },
  };
}

/**
 * `undefined` where there is no answer to our question. Only a box that somebody ticked is a yes: a client that sends
 * the form off by itself, or as it came, has asked nobody.
 */
export function decisionIn(answers: JsonObject): "accept" | "unticked" | "decline" | "closed" | undefined {
  const answer = answers[confirmKey];
  if (!isObject(answer)) return undefined;
  const { action, content } = answer;
  if (action === "cancel") return "closed";
  if (action !== "accept") return "decline";
  return isObject(content) && content["allow"] === true ? "accept" : "unticked";
}
