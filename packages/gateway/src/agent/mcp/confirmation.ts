/** The form that asks a person to approve a call: it shows the caller, the device, the tool and all arguments. */
import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { cleanLine, isObject, type JsonObject } from "@tendon/protocol";
import { TendonError } from "../../errors.ts";

export interface Confirmation {
  /** The device, or the number of devices of a fan-out. */
  readonly device: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly reason: string;
  /** A digest of exactly this call. */
  readonly binding: string;
}

/** The key of the gateway's own question among the questions of a round. */
export const confirmKey = "tendon_confirm";
const maxArgumentsLength = 1_500;

/** Ends a call that needs a person's approval. The code that catches it sends the form. */
export class ConfirmationRequired extends TendonError {
  readonly confirmation: Confirmation;

  constructor(confirmation: Confirmation) {
    super("approval_required", "the client asks the person in front of the agent for approval");
    this.confirmation = confirmation;
  }
}

/** The same for a fan-out. No TendonError, because that would become the result of a single device. */
export class FanOutConfirmationRequired extends Error {
  override readonly name = "FanOutConfirmationRequired";
  readonly confirmation: Confirmation;

  constructor(confirmation: Confirmation) {
    super("the client asks the person in front of the agent for approval");
    this.confirmation = confirmation;
  }
}

/** Whether the form can show all arguments: a person must not approve what the form leaves out. */
export function canBeShown({ arguments: args }: Confirmation): boolean {
  return JSON.stringify(args).length <= maxArgumentsLength;
}

export function formFor(principal: string, device: string, asked: Confirmation): ElicitRequestFormParams {
  const lines = [
    `The agent "${cleanLine(principal, 64)}" wants to call ${asked.tool} on ${device}.`,
    `Arguments: ${cleanLine(JSON.stringify(asked.arguments), maxArgumentsLength * 2)}`,
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
          description: "Tick the box to run the call once, now. Leave it empty to reject the call.",
        },
      },
      required: ["allow"],
    },
  };
}

/**
 * `undefined` if the answers have none to the gateway's question. Only a ticked box is an approval, because some clients
 * submit a form without showing it to a person.
 */
export function decisionIn(answers: JsonObject): "accept" | "unticked" | "decline" | "closed" | undefined {
  const answer = answers[confirmKey];
  if (!isObject(answer)) return undefined;
  const { action, content } = answer;
  if (action === "cancel") return "closed";
  if (action !== "accept") return "decline";
  return isObject(content) && content["allow"] === true ? "accept" : "unticked";
}
