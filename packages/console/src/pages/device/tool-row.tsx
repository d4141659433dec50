/** One tool: its name, description, form and result. */
import type { CallCheck, CallReply, DeviceDetail, QueuedReply, Tool } from "@tendon/protocol";
import { lazy, Suspense, useEffect, useId, useMemo, useRef, useState } from "react";
import { type Arguments, useToolCall, useToolCheck } from "../../api/calls.ts";
import { type ExpiryChoice, useQueueCall } from "../../api/queued-calls.ts";
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
import { Description, previewOf } from "./description.tsx";
import { formSchema } from "./form-schema.ts";
import { hasArguments, initialValues, presentValues } from "./initial-values.ts";
import { FocusField, useNamed } from "./named-tool.tsx";
import { QueuedNote, QueueOffer } from "./queue-offer.tsx";

const ToolForm = lazy(async () => ({ default: (await import("../../forms/tool-form.tsx")).ToolForm }));

/** A call that waits for the user's confirmation, with the gateway's decision about it. */
interface Asked {
  readonly args: Arguments;
  readonly check: CallCheck;
}

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
  const schema = useMemo(() => formSchema(tool.inputSchema), [tool.inputSchema]);
  const [values, setValues] = useValues(tool, schema, device.status);
  const [asked, setAsked] = useState<Asked>();
  const call = useToolCall(device.id);
  const queue = useQueueCall(device.id);
  const [expiry, setExpiry] = useState<ExpiryChoice>("day");
  const check = useToolCheck(device.id);
  const takesArguments = hasArguments(tool.inputSchema);
  const asks = tool.audience === "user" && !tool.annotations.readOnlyHint;
  const danger = asks && tool.annotations.destructiveHint;
  const denied = tool.access === "denied";
  const why = denied ? (tool.changed?.quarantined === true ? "quarantined" : "denied") : away;
  const mayQueue = why === "offline" && device.approval !== "revoked";
  const busy = call.isPending || queue.isPending || check.isPending;
  const blocked = why !== undefined || busy;
  const send = (args: Arguments) => {
    setAsked(undefined);
    setOpen(true);
    if (mayQueue) queue.mutate({ tool: tool.name, args, expiry });
    else call.mutate({ tool: tool.name, args });
  };
  // A call that a rule rejects is rejected before the user confirms it, not after.
  const run = (args: Arguments) => {
    call.reset();
    queue.reset();
    check.reset();
    if (!asks) {
      send(args);
      return;
    }
    check.mutate(
      { tool: tool.name, args },
      {
        onSuccess: (decision) => setAsked({ args, check: decision }),
        onError: () => setOpen(true),
      },
    );
  };
  const action = (look: "plain" | "primary") => (
    <Button
      type="submit"
      look={danger ? "danger" : look}
      disabled={blocked}
      aria-describedby={open && why !== undefined ? note : undefined}
    >
      {t(call.isPending ? "tools.running" : "tools.run")}
    </Button>
  );
  return (
    <li ref={row} className={open ? "bg-raised/40" : ""}>
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
              {denied && <Badge>{t(why === "quarantined" ? "tools.changed" : "tools.denied")}</Badge>}
            </span>
          </button>
          {!open && <p className="line-clamp-1 pl-5 text-sm text-soft">{previewOf(tool.description)}</p>}
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
            <Description text={tool.description} />
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
                {mayQueue && <QueueOffer expiry={expiry} onExpiry={setExpiry} disabled={busy} />}
                {why === undefined && tool.access === "allowed" && tool.argumentsDecide === true && (
                  <p className="mt-1 text-sm text-soft">{t("tools.argumentsDecide")}</p>
                )}
                <FocusField form={id} visit={visit} ready={why === undefined} />
              </ToolForm>
            </Suspense>
            {check.isError && <ProblemNote error={check.error} />}
            {call.isPending && <RunningCall call={call.running} />}
            {call.isError && <ProblemNote error={call.error} />}
            {call.isSuccess && <ToolResult reply={call.data} />}
            {queue.isError && <ProblemNote error={queue.error} />}
            {queue.isSuccess && <QueueResult reply={queue.data} />}
          </>
        )}
      </div>
      {asks && (
        <ConfirmTool
          device={device}
          tool={tool}
          args={asked?.args}
          check={asked?.check}
          danger={danger}
          queued={mayQueue}
          onClose={() => setAsked(undefined)}
          onConfirm={send}
        />
      )}
    </li>
  );
}

/** The device may have come online just before the call was queued. Then the reply is its result. */
function QueueResult({ reply }: { readonly reply: CallReply | QueuedReply }) {
  return "state" in reply ? <QueuedNote key={reply.callId} reply={reply} /> : <ToolResult reply={reply} />;
}

/** The values of a form. They follow what the device reports until the user changes one. */
function useValues(
  { name }: Tool,
  schema: Readonly<Record<string, unknown>>,
  status: DeviceDetail["status"],
): readonly [Arguments, (values: Arguments) => void] {
  const present = useMemo(() => initialValues(schema, presentValues(name, status)), [schema, name, status]);
  const [edited, setEdited] = useState<Arguments>();
  const change = (values: Arguments) => {
    // The form also reports values that it has just been given.
    if (edited === undefined && isSame(values, present)) return;
    setEdited(values);
  };
  return [edited ?? present, change];
}

function isSame(one: Arguments, other: Arguments): boolean {
  const written = (values: Arguments) =>
    JSON.stringify(Object.entries(values).filter(([, value]) => value !== undefined));
  return written(one) === written(other);
}
