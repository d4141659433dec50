import { callerSchema, inlineReferences, type Tool, type ToolList, toolAnnotations } from "@tendon/protocol";
import type { Policy, Principal } from "../access/access.ts";
import type { DeviceRecord } from "./device-record.ts";
import type { Drift } from "./drift/drift.ts";

/** The tools of a device, each with the principal's access to it. */
export function toolListOf(
  record: DeviceRecord,
  principal: Principal,
  policy: Policy,
  drift: Drift,
  withUserTools: boolean,
): ToolList {
  const { catalogue } = record;
  const tools = catalogue
    .tools()
    .filter((tool) => withUserTools || tool.audience === "agent")
    .map((tool): Tool => {
      const { access, argumentsDecide } = policy.accessTo(principal, record, tool);
      const changed = drift.changeOf(record.id, tool);
      return {
        name: tool.name,
        agentName: record.exposedName(tool.name),
        description: tool.description,
        inputSchema: inlineReferences(callerSchema(tool)),
        ...(tool.outputSchema === undefined ? {} : { outputSchema: inlineReferences(tool.outputSchema) }),
        annotations: toolAnnotations(tool),
        audience: tool.audience,
        access,
        ...(argumentsDecide ? { argumentsDecide } : {}),
        ...(changed === undefined ? {} : { changed }),
        ...(tool.repairs.length === 0 ? {} : { repairs: [...tool.repairs] }),
      };
    });
  return {
    tools,
    complete: catalogue.complete,
    ...(catalogue.problem === undefined ? {} : { problem: catalogue.problem }),
    ...(catalogue.setAside.length === 0 ? {} : { setAside: [...catalogue.setAside] }),
  };
}
