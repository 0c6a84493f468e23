"""DOOR: work in the background: queueing operations, running them, cancelling, looking at the queue.

A handler is `handle(operation, tools) -> effect`: it reads and asks the model, and what is to be written it returns as
a function of a connection. The queue runs that function and marks the operation completed in one transaction, so that
it takes effect once, whichever worker dies when.
"""

from ..shapes import ListedOperation, Operation, OperationRun
from .handlers import register_handler
from .queue import (
    cancel,
    clear_queue,
    count_operations,
    enqueue_operation,
    list_operations,
    retry_operation,
    run_pending,
)
from .tools import Effect, Handler, Tools, operation_scope
from .worker import Worker

__all__ = [
    "Effect",
    "Handler",
    "ListedOperation",
    "Operation",
    "OperationRun",
    "Tools",
    "Worker",
    "cancel",
    "clear_queue",
    "count_operations",
    "enqueue_operation",
    "list_operations",
    "operation_scope",
    "register_handler",
    "retry_operation",
    "run_pending",
]
