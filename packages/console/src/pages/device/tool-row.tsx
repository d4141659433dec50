/** One tool: its name, description, form and result. */
import type { DeviceDetail, Tool } from "@tendon/protocol";
import { lazy, Suspense, useEffect, useId, useMemo, useRef, useState } from "react";
import { type Arguments, useToolCall } from "../../api/calls.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyAs } from "../../ui/copy-as.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { RunningCall } from "../../ui/running-call.tsx";
import { Badge, Skeleton } from "../../ui/states.tsx";
import { titleOf } from "../../ui/tool-names.ts";
import { ToolResult } from "../../ui/tool-result.tsx";
import { BlockedNote, useAway } from "./blocked.tsx";
import { ConfirmTool } from "./confirm-tool.tsx";
import { formSchema } from "./form-schema.ts";
import { hasArguments, initialValues } from "./initial-values.ts";
import { FocusField, useNamed } from "./named-tool.tsx";

const ToolForm = lazy(async () => ({ default: (await import("../../forms/tool-form.tsx")).ToolForm }));

export function ToolRow({ device, tool }: { readonly device: DeviceDetail; readonly tool: Tool }) {
  const { t } = useI18n();
  const away = useAway(device);
  const note = useId();
  const id = useId();
  const [open, setOpen] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const visit = useNamed(tool.name);
  useEffect(() => {
    if (visit === undefined) return;
    setOpen(true);
    row.current?.scrollIntoView({ block: "center" });
  }, [visit]);
  const [values, setValues] = useState<Arguments>(() => initialValues(formSchema(tool.inputSchema)));
  const [asked, setAsked] = useState<Arguments>();
  const call = useToolCall(device.id);
  const takesArguments = hasArguments(tool.inputSchema);
  const schema = useMemo(() => formSchema(tool.inputSchema), [tool.inputSchema]);
  const people = tool.audience === "user";
  const denied = tool.access === "denied";
  const why = denied ? "denied" : away;
  const blocked = why !== undefined || call.isPending;
  const send = (args: Arguments) => {
    setAsked(undefined);
    setOpen(true);
    call.mutate({ tool: tool.name, args });
  };
  const run = (args: Arguments) => (people ? setAsked(args) : send(args));
  const action = (look: "plain" | "primary") => (
    <Button
      type="submit"
      look={people ? "danger" : look}
      disabled={blocked}
      aria-describedby={open && why !== undefined ? note : undefined}
    >
      {call.isPending ? t("tools.running") : t("tools.run")}
    </Button>
  );
  return (
    <li ref={row}>
      <div className="flex items-start gap-2 px-4 py-2.5">
        <div className="min-w-0 flex-1">
          <button
            type="button"
            aria-expanded={open}
            aria-controls={id}
            onClick={() => setOpen(!open)}
            className="flex w-full min-w-0 items-start gap-2 rounded text-left"
          >
            <span className={`pt-1 text-soft transition-transform ${open ? "rotate-90" : ""}`}>
              <Icon name="chevron" size={12} />
            </span>
            <span className="flex min-w-0 flex-wrap items-center gap-x-2">
              <span className="font-medium">{titleOf(tool.name)}</span>
              <code className="font-mono text-xs break-all text-soft">{tool.name}</code>
              {tool.access === "confirm" && <Badge tone="warn">{t("tools.needsApproval")}</Badge>}
              {denied && <Badge>{t("tools.denied")}</Badge>}
            </span>
          </button>
          {!open && <p className="line-clamp-1 pl-5 text-sm text-soft">{tool.description}</p>}
        </div>
        {!takesArguments && !open && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              run({});
            }}
          >
            {action("plain")}
          </form>
        )}
      </div>
      <div id={id} hidden={!open} className="flex flex-col gap-3 px-4 pb-4 pl-9">
        {open && (
          <>
            <p className="text-sm whitespace-pre-line text-soft">{tool.description}</p>
            <Suspense fallback={<Skeleton className="h-8 w-full" />}>
              <ToolForm
                schema={schema}
                values={values}
                onChange={setValues}
                onSubmit={run}
                disabled={denied}
                idPrefix={id}
              >
                <div className="mt-3 flex items-center gap-1">
                  {action("primary")}
                  <CopyAs
                    call={{ device: device.alias, tool: tool.name, agentName: tool.agentName, args: values }}
                  />
                </div>
                {why !== undefined && <BlockedNote id={note} why={why} device={device.id} />}
                <FocusField form={id} visit={visit} ready={why === undefined} />
              </ToolForm>
            </Suspense>
            {call.isPending && <RunningCall call={call.running} />}
            {call.isError && <ProblemNote error={call.error} />}
            {call.isSuccess && <ToolResult reply={call.data} />}
          </>
        )}
      </div>
      {people && (
        <ConfirmTool
          device={device}
          tool={tool}
          args={asked}
          onClose={() => setAsked(undefined)}
          onConfirm={send}
        />
      )}
    </li>
  );
}
