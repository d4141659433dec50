/** Who changed what, when and from where. The filters are part of the address. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { auditActions } from "@tendon/protocol";
import { useDeferredValue, useMemo } from "react";
import { type AuditFilter, auditQuery } from "../../api/audit.ts";
import { query } from "../../api/client.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { useAddressFilter } from "../../shell/address-filter.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { AdminOnly } from "../../ui/admin-only.tsx";
import { Button } from "../../ui/button.tsx";
import { ExportButtons } from "../../ui/export-buttons.tsx";
import { Select, TextInput } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Empty, SkeletonRows } from "../../ui/states.tsx";
import { AuditTable, actionText } from "./audit-table.tsx";

export function AuditPage() {
  const { t } = useI18n();
  const [given, change] = useAddressFilter(["principal", "action", "since"]);
  const deferred = useDeferredValue(given.principal);
  const filter = useMemo(
    () => ({
      principal: deferred.trim() === "" ? undefined : deferred.trim(),
      action: given.action === "" ? undefined : given.action,
      since: startOf(given.since),
    }),
    [deferred, given.action, given.since],
  );
  const clear = () => change({ principal: "", action: "", since: "" });
  return (
    <>
      <PageHeader
        title={t("audit.title")}
        lead={t("audit.lead")}
        actions={
          <AdminOnly otherwise={null}>
            <ExportButtons path={`/audit${query({ ...filter })}`} name="tendon-audit" />
          </AdminOnly>
        }
      />
      <AdminOnly>
        <div className="mb-3 grid grid-cols-1 gap-2 sm:grid-cols-2 lg:grid-cols-3">
          <TextInput
            aria-label={t("audit.principal")}
            placeholder={t("audit.principal")}
            value={given.principal}
            onChange={({ target }) => change({ principal: target.value })}
          />
          <ActionSelect value={given.action} onChange={(action) => change({ action })} />
          <label className="flex items-center gap-2 text-sm text-soft">
            <span className="shrink-0">{t("audit.since")}</span>
            <TextInput
              type="date"
              value={given.since}
              onChange={({ target }) => change({ since: target.value })}
            />
          </label>
        </div>
        <Entries filter={filter} onClear={clear} />
      </AdminOnly>
    </>
  );
}

function ActionSelect({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (action: string) => void;
}) {
  const { t } = useI18n();
  return (
    <Select aria-label={t("audit.action")} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">{t("audit.anyAction")}</option>
      {auditActions.map((action) => (
        <option key={action} value={action}>
          {actionText(t, action)}
        </option>
      ))}
    </Select>
  );
}

function Entries({ filter, onClear }: { readonly filter: AuditFilter; readonly onClear: () => void }) {
  const { t } = useI18n();
  const list = useInfiniteQuery({ ...auditQuery(filter), placeholderData: keepPreviousData });
  if (list.data === undefined)
    return list.error === null ? <SkeletonRows /> : <ProblemNote error={list.error} />;
  const entries = list.data.pages.flatMap((page) => page.entries);
  if (entries.length === 0)
    return (
      <Empty icon="audit" title={t("audit.none")}>
        <p>{t("audit.noneHint")}</p>
        <Button onClick={onClear}>{t("audit.clear")}</Button>
      </Empty>
    );
  return (
    <>
      <AuditTable entries={entries} />
      {list.hasNextPage && (
        <div className="p-2 text-center">
          <Button look="quiet" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {t("audit.more")}
          </Button>
        </div>
      )}
    </>
  );
}

/** The start of a day in the reader's time zone; `undefined` for anything but a date. */
function startOf(day: string): string | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? new Date(`${day}T00:00:00`) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
