-- name: queue_depth
-- What waits for a worker now, by queue. No row at all: nobody has used jobs in this plant.
SELECT queue, count(*) FILTER (WHERE status IN ('pending', 'queued')) AS waiting FROM job_runs GROUP BY queue
