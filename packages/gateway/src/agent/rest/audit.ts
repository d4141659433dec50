import { AuditList, AuditQuery } from "@tendon/protocol";
import type { Audit } from "../../audit/audit.ts";
import { failures, type Http } from "../http/http.ts";
import { type Export, exportable, exportFormat, sendExport } from "./export.ts";

const columns: Export<AuditList["entries"][number]>["columns"] = {
  id: ({ id }) => id,
  at: ({ at }) => at,
  principal: ({ principal }) => principal,
  action: ({ action }) => action,
  targetType: ({ target }) => target.type,
  targetId: ({ target }) => target.id,
  targetName: ({ target }) => target.name,
  from: ({ from }) => from,
  detail: ({ detail }) => detail,
  principalId: ({ principalId }) => principalId,
};

export function auditRoutes(http: Http, audit: Audit): void {
  http.get(
    "/audit",
    {
      schema: {
        operationId: "listAudit",
        summary: "Who changed what: sign-ins, tokens, devices, approvals, firmware, settings",
        description:
          "Needs `admin`. Newest first. `Accept: text/csv` or `application/x-ndjson` returns all entries as a file.",
        tags: ["operations"],
        querystring: AuditQuery,
        response: { 200: exportable(AuditList), ...failures },
      },
    },
    async (request, reply) => {
      const { principal, query } = request;
      const format = exportFormat(request.headers.accept);
      if (format === undefined) return await audit.list(principal, query);
      return await sendExport(reply, format, {
        name: "tendon-audit",
        columns,
        async page(position) {
          const { cursor: _from, ...filter } = query;
          const { entries, nextCursor } = await audit.list(principal, { ...filter, ...position });
          return { rows: entries, nextCursor };
        },
      });
    },
  );
}
