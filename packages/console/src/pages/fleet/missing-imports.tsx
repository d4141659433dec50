/** Imported devices that have not connected yet: a slim bar that opens. */

import {
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { ImportedRow } from "@tendon/protocol";
import { useDeferredValue, useEffect, useState } from "react";
import { api, inPath } from "../../api/client.ts";
import { importsQuery, missingImportsQuery } from "../../api/imports.ts";
import { keys } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { SearchInput } from "../../ui/field.tsx";
import { OpeningBar } from "../../ui/opening-bar.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, SkeletonRows } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";

export function MissingImports() {
  const { t, n } = useI18n();
  const { may } = useSession();
  const { data } = useQuery({ ...missingImportsQuery, enabled: may("provision") });
  const total = data?.total ?? 0;
  if (total === 0) return null;
  return (
    <OpeningBar
      label={t("imports.title")}
      icon="fleet"
      tone="text-soft"
      text={n("imports.bar", total)}
      action={(isOpen) => t(isOpen ? "pending.close" : "imports.open")}
    >
      <Rows />
    </OpeningBar>
  );
}

function Rows() {
  const { t } = useI18n();
  const [search, setSearch] = useState("");
  const [removed, setRemoved] = useState<ImportedRow>();
  const q = useDeferredValue(search.trim());
  const list = useInfiniteQuery({ ...importsQuery(q), placeholderData: keepPreviousData });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const rows = list.data?.pages.flatMap(({ imports }) => imports) ?? [];
  // The gateway ends a page early where few rows match: the next one may have some.
  const goesOn = hasNextPage && list.data?.pages.at(-1)?.imports.length === 0;
  useEffect(() => {
    if (goesOn && !isFetchingNextPage) void fetchNextPage();
  }, [goesOn, isFetchingNextPage, fetchNextPage]);
  return (
    <>
      <div className="flex flex-col gap-3 px-4 pt-1 pb-3">
        <p className="text-sm text-soft">{t("imports.lead")}</p>
        <SearchInput
          aria-label={t("imports.search")}
          placeholder={t("imports.search")}
          value={search}
          onChange={({ target }) => setSearch(target.value)}
          className="max-w-md"
        />
        {list.error !== null && <ProblemNote error={list.error} />}
      </div>
      {list.isPending || (rows.length === 0 && goesOn) ? (
        <SkeletonRows rows={3} />
      ) : (
        rows.length === 0 && <p className="px-4 pb-4 text-soft">{t("imports.none")}</p>
      )}
      {rows.length > 0 && (
        <ul className="divide-y divide-line border-t border-line">
          {rows.map((row) => (
            <li key={row.id} className="flex flex-wrap items-center justify-between gap-3 px-4 py-2.5">
              <RowDetails row={row} />
              <Button
                aria-label={t("imports.removeThis", { device: row.id })}
                onClick={() => setRemoved(row)}
              >
                {t("imports.remove")}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {hasNextPage && rows.length > 0 && (
        <div className="border-t border-line p-2 text-center">
          <Button look="quiet" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {t("imports.more")}
          </Button>
        </div>
      )}
      {removed !== undefined && <RemoveDialog row={removed} onClose={() => setRemoved(undefined)} />}
    </>
  );
}

function RowDetails({ row }: { readonly row: ImportedRow }) {
  const { t } = useI18n();
  return (
    <span className="min-w-0">
      <span className="flex flex-wrap items-center gap-2 font-mono font-medium">
        {row.id}
        {row.tags.map((tag) => (
          <Badge key={tag}>{tag}</Badge>
        ))}
      </span>
      <span className="block text-sm break-words text-soft">
        {t("imports.imported")} <Ago at={row.importedAt} />
        {row.serial !== null && ` · ${t("imports.serial", { serial: row.serial })}`}
        {row.hasKey && ` · ${t("imports.key")}`}
      </span>
    </span>
  );
}

function RemoveDialog({ row, onClose }: { readonly row: ImportedRow; readonly onClose: () => void }) {
  const { t } = useI18n();
  const client = useQueryClient();
  const removal = useMutation({
    mutationFn: () => api<void>(`/imports/${inPath(row.id)}`, { method: "DELETE" }),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: keys.imports });
    },
  });
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => removal.mutate()}
      request={removal}
      title={t("imports.removeTitle", { device: row.id })}
      effect={t("imports.removeEffect")}
      action={t("imports.remove")}
    />
  );
}
