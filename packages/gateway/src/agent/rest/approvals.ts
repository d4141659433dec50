import { ApprovalList, ApprovalQuery, ApprovalView } from "@tendon/protocol";
import Type from "typebox";
import type { Http } from "../http/http.ts";
import type { Services } from "../services.ts";
import { failures } from "./route-parts.ts";

const ApprovalParams = Type.Object({ id: Type.String({ maxLength: 64 }) });

export function approvalRoutes(http: Http, { approvals }: Services): void {
  http.get(
    "/approvals",
    {
      schema: {
        summary: "Calls that wait for a person, and what became of them",
        description:
          "With `call:user` all that concern devices you see; otherwise the ones you asked for yourself. Newest first.",
        tags: ["approvals"],
        querystring: ApprovalQuery,
        response: { 200: ApprovalList, ...failures },
      },
    },
    (request) => approvals.list(request.principal, request.query),
  );
  http.get(
    "/approvals/:id",
    {
      schema: {
        summary: "One request for approval",
        tags: ["approvals"],
        params: ApprovalParams,
        response: { 200: ApprovalView, ...failures },
      },
    },
    (request) => approvals.get(request.principal, request.params.id),
  );
  for (const [word, approve] of [
    ["approve", true],
    ["deny", false],
  ] as const) {
    http.post(
      `/approvals/:id/${word}`,
      {
        schema: {
          summary: approve ? "Let a call through, once, within ten minutes" : "Do not let a call through",
          description: "Needs `call:user`, and is never for whoever asked.",
          tags: ["approvals"],
          params: ApprovalParams,
          response: { 200: ApprovalView, ...failures },
        },
      },
      (request) => approvals.decide(request.principal, request.params.id, approve),
    );
  }
}
