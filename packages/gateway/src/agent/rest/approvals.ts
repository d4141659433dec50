import { ApprovalList, ApprovalQuery, ApprovalView } from "@tendon/protocol";
import Type from "typebox";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf } from "./route-parts.ts";

const ApprovalParams = Type.Object({ id: Type.String({ maxLength: 64 }) });

export function approvalRoutes(http: Http, { services, audit }: RestDependencies): void {
  const { approvals } = services;
  http.get(
    "/approvals",
    {
      schema: {
        operationId: "listApprovals",
        summary: "Requests for approval, pending and decided",
        description:
          "With `call:user`: all requests for devices that you see. Otherwise: your own requests. Newest first.",
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
        operationId: "getApproval",
        summary: "One request for approval",
        tags: ["approvals"],
        params: ApprovalParams,
        response: { 200: ApprovalView, ...failures },
      },
    },
    (request) => approvals.get(request.principal, request.params.id),
  );
  for (const [action, approve] of [
    ["approve", true],
    ["deny", false],
  ] as const) {
    http.post(
      `/approvals/:id/${action}`,
      {
        schema: {
          operationId: approve ? "approveCall" : "denyCall",
          summary: approve ? "Approve one call; the approval lasts ten minutes" : "Deny a call",
          description: "Needs `call:user`. A caller cannot decide its own request.",
          tags: ["approvals"],
          params: ApprovalParams,
          response: { 200: ApprovalView, ...failures },
        },
      },
      async (request) => {
        const decided = await approvals.decide(request.principal, request.params.id, approve);
        const { id, device, tool, principal } = decided;
        const target = { type: "approval", id, name: tool };
        await audit.record(actorOf(request), `approval.${action}`, target, { device, tool, principal });
        return decided;
      },
    );
  }
}
